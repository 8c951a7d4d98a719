//! Stacks that wait: what each promise of `runtime/src/fiber/README.md` comes to.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use common::{message, pools};
use locksley::sync::{Mutex, Semaphore};
use locksley::{Pool, Scope, Worker, block_on};

/// Whether pools have stacks at all.
const STACKS: bool = cfg!(all(feature = "stacks", not(locksley_portable)));

fn address_of_a_local() -> usize {
    let local = 0_u8;
    std::hint::black_box(&raw const local).addr()
}

#[test]
fn an_ordinary_thread_blocks() {
    let permits = Semaphore::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(1));
            permits.add_permits(1);
        });
        block_on(permits.acquire()).unwrap().forget();
    });
    assert_eq!(permits.available_permits(), 0);
}

#[test]
fn a_worker_waits_for_a_future_that_an_outside_thread_wakes() {
    for pool in pools() {
        for _ in 0..20 {
            let permits = Semaphore::new(0);
            thread::scope(|scope| {
                scope.spawn(|| permits.add_permits(1));
                let here = pool.run(|w| {
                    block_on(permits.acquire()).unwrap().forget();
                    (w.index(), Worker::with_current(|w| w.unwrap().index()))
                });
                assert_eq!(here.0, here.1, "a stack stays on its worker");
            });
        }
    }
}

#[test]
fn a_future_that_panics_panics_where_it_is_waited_for() {
    let pool = Pool::new(2).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|_| {
            block_on(async {
                locksley::task::yield_now().await;
                panic!("in a future");
            })
        });
    }));
    assert_eq!(message(&*caught.unwrap_err()), "in a future");
    assert_eq!(pool.run(|w| w.workers()), 2);
}

/// All but the last wait for the next one. With stacks one worker is enough, whatever the order in which they begin.
#[test]
fn one_worker_serves_many_tasks_that_wait_for_each_other() {
    if !STACKS {
        return;
    }
    const TASKS: usize = 1000;
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let signals: Vec<_> = (0..=TASKS).map(|_| Semaphore::new(0)).collect();
        pool.in_place_scope(|scope| {
            for n in 0..TASKS {
                let signals = &signals;
                scope.spawn(move |_| {
                    block_on(signals[n + 1].acquire()).unwrap().forget();
                    signals[n].add_permits(1);
                });
            }
            signals[TASKS].add_permits(1);
        });
        assert_eq!(signals[0].available_permits(), 1);
    }
}

/// Law 2, and the index of the deque: the waiting half's own second half is run by the same worker, which then pushes to its place.
#[test]
fn the_second_half_runs_while_the_first_waits_for_it() {
    if !STACKS {
        return;
    }
    for workers in [1, 2, 3] {
        let pool = Pool::new(workers).unwrap();
        for _ in 0..200 {
            let (signal, back) = (Semaphore::new(0), Semaphore::new(0));
            let (a, b) = pool.run(|w| {
                w.join(
                    |w| {
                        w.join(|_| (), |_| ());
                        block_on(signal.acquire()).unwrap().forget();
                        back.add_permits(1);
                        w.join(|_| 1, |_| 2)
                    },
                    |w| {
                        signal.add_permits(1);
                        // Another stack, or worker, goes on while this one is where the first half pushed it.
                        block_on(back.acquire()).unwrap().forget();
                        w.join(|_| 3, |_| 4)
                    },
                )
            });
            assert_eq!((a, b), ((1, 2), (3, 4)));
        }
    }
}

/// The second half waits on a stack of the worker that forked it, when the first has ended; and meanwhile others push to the same
/// place of the deque.
#[test]
fn a_second_half_that_has_begun_at_home_is_not_taken_for_another() {
    if !STACKS {
        return;
    }
    let pool = Pool::new(1).unwrap();
    for _ in 0..100 {
        let (begun, released, others) = (Semaphore::new(0), Semaphore::new(0), Semaphore::new(0));
        let sum = pool.run(|w| {
            let (a, b) = w.join(
                |w| {
                    block_on(begun.acquire()).unwrap().forget();
                    // The second half waits. Its place is free now; another task pushes there, and waits too.
                    w.scope(|_, scope| {
                        scope.spawn_on(w, |w, _| {
                            let (x, y) = w.join(
                                |_| {
                                    others.add_permits(1);
                                    block_on(released.acquire()).unwrap().forget();
                                    released.add_permits(1);
                                    10
                                },
                                |_| 20,
                            );
                            assert_eq!((x, y), (10, 20));
                        });
                        block_on(others.acquire()).unwrap().forget();
                        released.add_permits(1);
                    });
                    1
                },
                |_| {
                    begun.add_permits(1);
                    block_on(released.acquire()).unwrap().forget();
                    released.add_permits(1);
                    2
                },
            );
            a + b
        });
        assert_eq!(sum, 3);
    }
}

#[test]
fn panics_of_both_halves_arrive_though_they_ran_on_stacks() {
    if !STACKS {
        return;
    }
    let pool = Pool::new(1).unwrap();
    for (first, second, expected) in
        [(true, false, "first"), (false, true, "second"), (true, true, "first")]
    {
        let (signal, back) = (Semaphore::new(0), Semaphore::new(0));
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|w| {
                w.join(
                    |_| {
                        block_on(signal.acquire()).unwrap().forget();
                        back.add_permits(1);
                        assert!(!first, "first");
                    },
                    |_| {
                        signal.add_permits(1);
                        block_on(back.acquire()).unwrap().forget();
                        assert!(!second, "second");
                    },
                )
            });
        }));
        assert_eq!(message(&*caught.unwrap_err()), expected);
    }
    // The pool works on.
    assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn a_scope_waits_for_tasks_that_wait() {
    for workers in [1, 2, 4] {
        for stacks in [0, 1, 100] {
            let pool = Pool::builder().workers(workers).waiting_stacks(stacks).build().unwrap();
            let (gate, sum) = (Semaphore::new(0), AtomicUsize::new(0));
            pool.run(|w| {
                w.scope(|w, scope| {
                    for n in 0..50 {
                        let (gate, sum) = (&gate, &sum);
                        scope.spawn_on(w, move |w, scope| {
                            if n < 49 {
                                block_on(gate.acquire()).unwrap().forget();
                            } else {
                                gate.add_permits(49);
                            }
                            scope.spawn_on(w, move |_, _| {
                                sum.fetch_add(n, Ordering::Relaxed);
                            });
                        });
                    }
                });
            });
            assert_eq!(sum.into_inner(), 49 * 50 / 2);
        }
    }
}

/// What a scope's body leaves in the deque besides the scope's tasks may wait for what comes after the scope.
#[test]
fn a_scope_does_not_wait_for_strangers() {
    if !STACKS {
        return;
    }
    type Leave = fn(&Worker, &Scope<'_>, &Arc<Semaphore>);
    fn wait(permits: &Arc<Semaphore>) -> impl FnOnce() + Send + use<> {
        let permits = Arc::clone(permits);
        move || block_on(permits.acquire()).unwrap().forget()
    }
    let leaves: [(&str, Leave); 5] = [
        ("detached", |w, _, permits| {
            let wait = wait(permits);
            w.spawn(move |_| wait());
        }),
        ("detached, in order", |_, _, permits| {
            let wait = wait(permits);
            locksley::spawn_fifo(wait);
        }),
        ("into the outer scope", |w, outer, permits| {
            let wait = wait(permits);
            outer.spawn_on(w, move |_, _| wait());
        }),
        ("into the outer scope, in order", |_, outer, permits| {
            let wait = wait(permits);
            outer.spawn_fifo(move |_| wait());
        }),
        ("a future", |w, _, permits| {
            let wait = wait(permits);
            w.spawn_future(async move { wait() }).detach();
        }),
    ];
    for (name, leave) in leaves {
        // In the body, after a task of the scope; or by such a task, which runs on top.
        for by_a_task in [false, true] {
            let (sender, receiver) = channel();
            thread::spawn(move || {
                let (pool, permits) = (Pool::new(1).unwrap(), Arc::new(Semaphore::new(0)));
                pool.run(|w| {
                    w.scope(|w, outer| {
                        w.scope(|w, scope| {
                            scope.spawn_on(w, |_, _| ());
                            if by_a_task {
                                scope.spawn_on(w, |w, _| leave(w, outer, &permits));
                            } else {
                                leave(w, outer, &permits);
                            }
                        });
                        permits.add_permits(1);
                    });
                });
                drop(pool);
                assert_eq!(permits.available_permits(), 0);
                sender.send(()).unwrap();
            });
            let ended = receiver.recv_timeout(Duration::from_secs(20));
            assert_eq!(ended, Ok(()), "{name}, by a task: {by_a_task}");
        }
    }
}

/// The scope's tasks run in another pool; what its body leaves here is none of them.
#[test]
fn a_scope_of_another_pool_does_not_wait_for_strangers() {
    if !STACKS {
        return;
    }
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let (pool, other) = (Pool::new(1).unwrap(), Pool::new(1).unwrap());
        let permits = Arc::new(Semaphore::new(0));
        pool.run(|w| {
            other.in_place_scope(|scope| {
                scope.spawn(|_| ());
                let permits = Arc::clone(&permits);
                w.spawn(move |_| block_on(permits.acquire()).unwrap().forget());
            });
            permits.add_permits(1);
        });
        drop(pool);
        sender.send(()).unwrap();
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(()));
}

/// A task that waits within another future's poll, and one that is joined.
#[test]
fn handles_and_futures_that_block() {
    for pool in pools() {
        let answer = pool.run(|w| {
            let inner = w.spawn_future(async { 20 });
            let outer = w.spawn_future(async move { block_on(inner).unwrap() + 1 });
            block_on(outer).unwrap() + w.spawn_future(async { 21 }).join().unwrap()
        });
        assert_eq!(answer, 42);
    }
}

#[test]
fn workers_of_two_pools_wait_for_each_other() {
    for stacks in [0, 1, 100] {
        let build = || Pool::builder().workers(2).waiting_stacks(stacks).build().unwrap();
        let (one, other) = (build(), build());
        let sum = AtomicUsize::new(0);
        one.run(|w| {
            w.scope(|w, scope| {
                for n in 0..100 {
                    let (one, other, sum) = (&one, &other, &sum);
                    scope.spawn_on(w, move |_, _| {
                        let here = other.run(|_| one.run(|w| w.join(|_| n, |_| 1)));
                        sum.fetch_add(here.0 + here.1, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(sum.into_inner(), 99 * 50 + 100);
    }
}

/// A worker that is unwinding stays where it is: what it runs while it waits finds that it unwinds.
#[test]
fn a_worker_that_unwinds_stays_on_its_stack() {
    struct Joins<'a>(&'a Worker, &'a Cell<Option<(usize, usize)>>);
    impl Drop for Joins<'_> {
        fn drop(&mut self) {
            assert!(thread::panicking());
            let waited = self.0.join(
                |w| {
                    let task = w.spawn_future(async {
                        locksley::task::yield_now().await;
                        address_of_a_local()
                    });
                    block_on(task).unwrap()
                },
                |_| 5,
            );
            self.1.set(Some(waited));
        }
    }
    let pool = Pool::new(1).unwrap();
    let (here, waited) = pool.run(|w| {
        let waited = Cell::new(None);
        let here = address_of_a_local();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _joins = Joins(w, &waited);
            panic!("unwinds");
        }));
        assert_eq!(message(&*caught.unwrap_err()), "unwinds");
        (here, waited.get().unwrap())
    });
    assert_eq!(waited.1, 5);
    // On top, not somewhere else: the future was polled below on the same stack.
    assert!(here > waited.0 && here - waited.0 < 1 << 16, "{here:x} {:x}", waited.0);
}

/// As in rayon's issue 751: whoever waits picks up strangers, whose joins wait in turn. Here every task waits for one that is
/// begun after it, so that on one stack all their frames lie on top of each other; on stacks of their own they need not much each.
#[test]
fn a_chain_of_waiters_needs_bounded_stacks() {
    if !STACKS {
        return;
    }
    const TASKS: usize = 3000;
    const FRAME: usize = 16 << 10;
    // Two frames have room on a stack, but not ten.
    const STACK: usize = 128 << 10;
    fn with_a_large_frame(wait: impl FnOnce()) {
        let mut frame = [0_u8; FRAME];
        std::hint::black_box(&mut frame);
        wait();
        std::hint::black_box(&mut frame);
    }
    for workers in [1, 2] {
        let pool = Pool::builder()
            .workers(workers)
            .stack_size(STACK)
            .waiting_stack_size(STACK)
            .build()
            .unwrap();
        let signals: Vec<_> = (0..=TASKS).map(|_| Semaphore::new(0)).collect();
        pool.run(|w| {
            w.scope(|_, scope| {
                for n in 0..TASKS {
                    let signals = &signals;
                    scope.spawn_fifo(move |_| {
                        with_a_large_frame(|| {
                            let wait =
                                |_: &Worker| block_on(signals[n + 1].acquire()).unwrap().forget();
                            Worker::with_current(|w| w.unwrap().join(wait, |_| ()));
                        });
                        signals[n].add_permits(1);
                    });
                }
                signals[TASKS].add_permits(1);
            });
        });
        assert_eq!(signals[0].available_permits(), 1);
    }
}

/// Our own lock may be held across a wait: who wants it waits on a stack of its own, and the holder comes back.
#[test]
fn a_lock_of_ours_is_held_across_a_join_that_runs_strangers() {
    if !STACKS {
        return;
    }
    let pool = Pool::new(1).unwrap();
    let (lock, signal) = (Mutex::new(0), Semaphore::new(0));
    pool.run(|w| {
        w.scope(|w, scope| {
            scope.spawn_on(w, |_, _| {
                *block_on(lock.lock()) += 1;
                signal.add_permits(1);
            });
            scope.spawn_on(w, |w, _| {
                let mut guard = block_on(lock.lock());
                w.join(|_| block_on(locksley::task::yield_now()), |_| ());
                *guard += 10;
            });
        });
    });
    assert_eq!(lock.into_inner(), 11);
}

#[test]
fn dropping_a_pool_waits_for_closures_that_wait() {
    for workers in [1, 3] {
        let pool = Pool::new(workers).unwrap();
        let permits = std::sync::Arc::new(Semaphore::new(0));
        let done = std::sync::Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = channel();
        for _ in 0..10 {
            let (permits, done, sender) = (permits.clone(), done.clone(), sender.clone());
            pool.spawn(move |_| {
                sender.send(()).unwrap();
                block_on(permits.acquire()).unwrap().forget();
                done.fetch_add(1, Ordering::Release);
            });
        }
        // With stacks all have begun before any goes on.
        let begun = if STACKS { 10 } else { 1 };
        receiver.iter().take(begun).for_each(drop);
        let waker = thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            permits.add_permits(10);
        });
        drop(pool);
        assert_eq!(done.load(Ordering::Acquire), 10);
        waker.join().unwrap();
    }
}

/// Futures of a closing pool are cancelled, also while one of them blocks in a poll.
#[test]
fn a_closing_pool_waits_for_a_future_that_blocks() {
    let pool = Pool::new(2).unwrap();
    let permits = std::sync::Arc::new(Semaphore::new(0));
    let (sender, receiver) = channel();
    let inner = permits.clone();
    let task = pool.spawn_future(async move {
        sender.send(()).unwrap();
        block_on(inner.acquire()).unwrap().forget();
        7
    });
    receiver.recv().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(2));
            permits.add_permits(1);
        });
        drop(pool);
    });
    assert_eq!(task.join().unwrap(), 7);
}

/// A guest's thread does not go away from what it has begun.
#[test]
fn a_guest_runs_on_top() {
    thread::spawn(|| {
        let pool = Pool::builder().workers(1).with_current_thread().build().unwrap();
        let deep = AtomicUsize::new(0);
        let here = address_of_a_local();
        let answer = pool.run(|w| {
            let deep = &deep;
            w.scope(|w, scope| {
                scope.spawn_on(w, move |_, _| deep.store(address_of_a_local(), Ordering::Relaxed));
                block_on(w.spawn_future(async { 3 })).unwrap()
            })
        });
        assert_eq!(answer, 3);
        let deep = deep.into_inner();
        assert!(here > deep && here - deep < 1 << 16);
    })
    .join()
    .unwrap();
}

/// What is ready goes on before anything new is begun.
#[test]
fn a_ready_stack_comes_first() {
    if !STACKS {
        return;
    }
    let pool = Pool::new(1).unwrap();
    let (permits, last) = (Semaphore::new(0), Semaphore::new(0));
    let (came_back, too_early) = (AtomicBool::new(false), AtomicUsize::new(0));
    pool.run(|w| {
        w.scope(|w, scope| {
            for n in 0..20 {
                let (permits, last) = (&permits, &last);
                let (came_back, too_early) = (&came_back, &too_early);
                // The last is the first to run. It waits, and so does the next, which the one after that wakes.
                scope.spawn_on(w, move |_, _| match n {
                    19 => block_on(last.acquire()).unwrap().forget(),
                    18 => {
                        block_on(permits.acquire()).unwrap().forget();
                        came_back.store(true, Ordering::Relaxed);
                    }
                    17 => permits.add_permits(1),
                    0 => last.add_permits(1),
                    _ if came_back.load(Ordering::Relaxed) => {}
                    _ => _ = too_early.fetch_add(1, Ordering::Relaxed),
                });
            }
        });
    });
    assert_eq!(too_early.into_inner(), 0);
}

/// Two stacks that wake each other for ever keep nothing else back.
#[test]
fn stacks_that_wake_each_other_let_others_run() {
    if !STACKS {
        return;
    }
    let pool = Pool::new(1).unwrap();
    let (ping, pong, stop) = (Semaphore::new(1), Semaphore::new(0), AtomicBool::new(false));
    let play = |mine: &Semaphore, theirs: &Semaphore| {
        while !stop.load(Ordering::Acquire) {
            block_on(mine.acquire()).unwrap().forget();
            theirs.add_permits(1);
        }
    };
    thread::scope(|threads| {
        threads.spawn(|| {
            pool.in_place_scope(|scope| {
                scope.spawn(|_| play(&ping, &pong));
                scope.spawn(|_| play(&pong, &ping));
            });
        });
        for _ in 0..10 {
            pool.run(|_| ());
            assert_eq!(pool.broadcast(Worker::index), [0]);
        }
        stop.store(true, Ordering::Release);
    });
}

/// Own data of a stack's frames is as it was left, and floats are computed as before.
#[test]
fn frames_are_as_they_were() {
    let pool = Pool::new(2).unwrap();
    let sums: Vec<(f64, u64)> = pool.run(|w| {
        let results: Vec<_> = (0..200)
            .map(|n| {
                w.spawn_future(async move {
                    let (mut x, mut y) = (f64::from(n), u64::from(n as u32));
                    for k in 0..50_u32 {
                        block_on(locksley::task::yield_now());
                        x = x.mul_add(0.5, f64::from(k));
                        y = y.rotate_left(5) ^ u64::from(k);
                    }
                    (x, y)
                })
            })
            .collect();
        results.into_iter().map(|task| task.join().unwrap()).collect()
    });
    for (n, &(x, y)) in sums.iter().enumerate() {
        let (mut xx, mut yy) = (n as f64, n as u64);
        for k in 0..50_u32 {
            xx = xx.mul_add(0.5, f64::from(k));
            yy = yy.rotate_left(5) ^ u64::from(k);
        }
        assert_eq!((x, y), (xx, yy));
    }
}
