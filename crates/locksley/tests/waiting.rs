//! What a worker runs while a join or scope waits: `Waiting`.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
#[cfg(all(feature = "stacks", not(locksley_portable)))]
use std::time::Duration;

use common::{Confined, in_time};
use locksley::hunt::Abp;
use locksley::sync::Semaphore;
use locksley::{Pool, PoolBuilder, Waiting, Worker, block_on};

fn wait_until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn builders() -> impl Iterator<Item = PoolBuilder> {
    let below = || Pool::builder().waiting(Waiting::Below);
    let sleepless = Abp { sleep_after: None, ..Abp::default() };
    [below(), below().governor(Confined), below().governor(sleepless), below().oldest_first()]
        .into_iter()
}

#[test]
fn results_are_right_whatever_is_run_meanwhile() {
    for workers in [1, 2, 5] {
        for builder in builders() {
            let pool = builder.workers(workers).build().unwrap();
            assert_eq!(pool.run(|w| fib(w, 18)), 2584);
            let sum = AtomicUsize::new(0);
            pool.run(|w| {
                w.scope(|w, scope| {
                    for n in 0..100 {
                        let sum = &sum;
                        scope.spawn_on(w, move |w, scope| {
                            sum.fetch_add(fib(w, 8) as usize, Ordering::Relaxed);
                            scope.spawn_on(w, move |_, _| {
                                sum.fetch_add(n, Ordering::Relaxed);
                            });
                        });
                    }
                });
            });
            assert_eq!(sum.into_inner(), 21 * 100 + 99 * 50);
        }
    }
}

/// Rayon's issue 592: a lock that is held across a join, and other tasks that want it.
#[test]
fn no_stranger_wants_a_lock_that_a_waiter_holds() {
    for workers in [1, 2, 4] {
        let pool = Pool::builder().workers(workers).waiting(Waiting::Below).build().unwrap();
        for _ in 0..20 {
            let total = Mutex::new(0);
            pool.run(|w| {
                w.scope(|w, scope| {
                    for _ in 0..50 {
                        let total = &total;
                        scope.spawn_on(w, move |w, _| {
                            let mut total = total.lock().unwrap();
                            // Much for others to take, and to be waited for.
                            *total += fib(w, 12);
                        });
                    }
                });
            });
            assert_eq!(total.into_inner().unwrap(), 144 * 50);
        }
    }
}

/// The waiter alone can run what its thief has forked: the thief is stuck until that has run.
#[test]
fn what_a_thief_forks_is_stolen_back() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..200 {
        let (stolen, stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
        let (home, other) = pool.run(|w| {
            w.join_waiting(
                Waiting::Below,
                |w| {
                    wait_until(&stolen);
                    w.index()
                },
                |w| {
                    stolen.store(true, Ordering::Release);
                    let fork = |w: &Worker| {
                        stolen_back.store(true, Ordering::Release);
                        w.index()
                    };
                    w.join(|_| wait_until(&stolen_back), fork).1
                },
            )
        });
        assert_eq!(home, other);
    }
}

/// The same, though the thief has spawned a future before, and called the waker of one that waits.
#[test]
fn what_a_thief_forks_is_stolen_back_though_it_has_made_futures_ready() {
    let pool = Pool::new(2).unwrap();
    for wakes in [false, true] {
        for _ in 0..100 {
            let (stolen, stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
            let semaphore = Arc::new(Semaphore::new(0));
            let waits = wakes.then(|| {
                let semaphore = Arc::clone(&semaphore);
                pool.spawn_future(async move { semaphore.acquire().await.unwrap().forget() })
            });
            let (home, other) = pool.run(|w| {
                w.join_waiting(
                    Waiting::Below,
                    |w| {
                        wait_until(&stolen);
                        w.index()
                    },
                    |w| {
                        stolen.store(true, Ordering::Release);
                        if wakes {
                            semaphore.add_permits(1);
                        } else {
                            w.spawn_future(async {}).detach();
                        }
                        let fork = |w: &Worker| {
                            stolen_back.store(true, Ordering::Release);
                            w.index()
                        };
                        w.join(|_| wait_until(&stolen_back), fork).1
                    },
                )
            });
            assert_eq!(home, other);
            waits.into_iter().for_each(|task| task.join().unwrap());
        }
    }
}

/// A task of somebody else's lies ready, in the waiter's own deque too, and is not touched before the wait is over.
#[test]
fn strangers_are_left_alone() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        for _ in 0..50 {
            let (too_early, waits) = (AtomicUsize::new(0), AtomicBool::new(true));
            let stolen = AtomicBool::new(workers == 1);
            pool.run(|w| {
                let here = w.index();
                // The waiter runs none before it has come back.
                let stranger = |w: &Worker| {
                    let is_early = waits.load(Ordering::Acquire) && w.index() == here;
                    too_early.fetch_add(usize::from(is_early), Ordering::Relaxed);
                };
                let stranger = &stranger;
                w.scope(|w, strangers| {
                    strangers.spawn_on(w, move |w, _| stranger(w));
                    w.join_waiting(
                        Waiting::Below,
                        |w| {
                            strangers.spawn_on(w, move |w, _| stranger(w));
                            wait_until(&stolen);
                        },
                        |_| {
                            stolen.store(true, Ordering::Release);
                            (0..100).for_each(|_| thread::yield_now());
                        },
                    );
                    w.scope_waiting(Waiting::Below, |w, mine| mine.spawn_on(w, |_, _| ()));
                    waits.store(false, Ordering::Release);
                });
            });
            assert_eq!(too_early.into_inner(), 0);
        }
    }
}

fn add_one(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::AcqRel);
}

#[test]
fn a_scope_gets_its_own_copy_of_its_broadcasts() {
    for workers in [1, 2, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (mine, others) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.run(|w| {
                w.scope_waiting(Waiting::Anything, |w, strangers| {
                    // In front of the own ones, between them, and behind.
                    strangers.spawn_broadcast(|_, _| add_one(&others));
                    w.scope_waiting(Waiting::Below, |_, scope| {
                        for _ in 0..3 {
                            scope.spawn_broadcast(|_, _| add_one(&mine));
                            strangers.spawn_broadcast(|_, _| add_one(&others));
                        }
                    });
                    assert_eq!(mine.load(Ordering::Acquire), 3 * workers);
                });
            });
            assert_eq!(others.into_inner(), 4 * workers);
        });
    }
}

/// A scope in which none was spawned leaves the part of another one's alone.
#[test]
fn parts_of_other_broadcasts_wait() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (waits, too_early) = (AtomicBool::new(true), AtomicUsize::new(0));
            pool.run(|w| {
                let here = w.index();
                let stranger = |w: &Worker| {
                    let is_early = waits.load(Ordering::Acquire) && w.index() == here;
                    too_early.fetch_add(usize::from(is_early), Ordering::Relaxed);
                };
                let stranger = &stranger;
                w.scope(|w, strangers| {
                    strangers.spawn_broadcast(move |w, _| stranger(w));
                    w.scope_waiting(Waiting::Below, |w, scope| {
                        scope.spawn_on(w, move |_, _| {
                            strangers.spawn_broadcast(move |w, _| stranger(w));
                        });
                    });
                    waits.store(false, Ordering::Release);
                });
            });
            assert_eq!(too_early.into_inner(), 0);
        });
    }
}

#[test]
fn a_scope_gets_what_it_has_spawned_in_order() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            for _ in 0..50 {
                let order = Mutex::new(Vec::new());
                pool.run(|w| {
                    w.scope_waiting(Waiting::Below, |w, scope| {
                        for n in 0..20 {
                            let order = &order;
                            scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
                            w.spawn(|_| ());
                        }
                    });
                });
                let mut order = order.into_inner().unwrap();
                if workers > 1 {
                    order.sort_unstable(); // they begin in order
                }
                assert!(order.into_iter().eq(0..20));
            }
        });
    }
}

/// A join inside of the scope finds them in its way.
#[test]
fn a_scope_gets_its_tasks_that_were_in_the_way_of_a_join() {
    for workers in [1, 2, 3] {
        for fifo in [false, true] {
            in_time(move || {
                let pool =
                    Pool::builder().workers(workers).waiting(Waiting::Below).build().unwrap();
                for _ in 0..50 {
                    let count = AtomicUsize::new(0);
                    // All workers may be in such scopes at the same time.
                    pool.run(|w| {
                        w.scope(|w, all| {
                            for _ in 0..8 {
                                all.spawn_on(w, |w, _| {
                                    w.scope(|w, scope| {
                                        let spawn = |w: &Worker| {
                                            if fifo {
                                                scope.spawn_fifo(|_| add_one(&count));
                                            } else {
                                                scope.spawn_on(w, |_, _| add_one(&count));
                                            }
                                        };
                                        w.join(spawn, |_| ());
                                        w.join(|w| w.join(spawn, |_| ()), |_| ());
                                    });
                                });
                            }
                        });
                    });
                    assert_eq!(count.into_inner(), 16);
                }
            });
        }
    }
}

/// Law 2: what the waiter may take, others may, too; it need not be waiting yet.
#[test]
fn others_get_what_was_in_the_way_of_a_join() {
    in_time(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..100 {
            let flag = AtomicBool::new(false);
            pool.run(|w| {
                w.scope_waiting(Waiting::Below, |w, scope| {
                    let spawn = |w: &Worker| {
                        scope.spawn_on(w, |_, _| flag.store(true, Ordering::Release));
                    };
                    w.join_waiting(Waiting::Below, spawn, |_| ());
                    wait_until(&flag);
                });
            });
        }
    });
}

/// While the body waits, the deque is emptied, and what is spawned then lies deeper than what was there when the scope began.
#[test]
fn a_scope_gets_what_it_has_spawned_after_others_had_gone() {
    for workers in [1, 2] {
        for waiting_stacks in [0, 100] {
            in_time(move || {
                let builder = Pool::builder().workers(workers).waiting_stacks(waiting_stacks);
                let pool = builder.build().unwrap();
                for _ in 0..50 {
                    let (permits, count) = (Arc::new(Semaphore::new(0)), AtomicUsize::new(0));
                    let oldest = Arc::clone(&permits);
                    pool.run(|w| {
                        w.spawn(move |_| oldest.add_permits(1));
                        (0..4).for_each(|_| w.spawn(|_| ()));
                        w.scope_waiting(Waiting::Below, |w, scope| {
                            block_on(permits.acquire()).unwrap().forget();
                            scope.spawn_on(w, |_, _| add_one(&count));
                        });
                    });
                    assert_eq!(count.into_inner(), 1);
                }
            });
        }
    }
}

#[test]
fn a_scope_gets_what_was_spawned_outside_of_its_pool() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let other = Pool::builder().workers(1).waiting(Waiting::Below).build().unwrap();
            let count = AtomicUsize::new(0);
            pool.run(|w| {
                w.scope_waiting(Waiting::Below, |_, scope| {
                    thread::scope(|threads| {
                        threads.spawn(|| scope.spawn(|_| add_one(&count)));
                        threads.spawn(|| scope.spawn_fifo(|_| add_one(&count)));
                    });
                    other.run(|w| scope.spawn_on(w, |_, _| add_one(&count)));
                });
            });
            assert_eq!(count.into_inner(), 3);
            // And a scope of that pool, whose tasks its waiter cannot run.
            let done = AtomicUsize::new(0);
            other.run(|_| {
                pool.in_place_scope(|scope| {
                    scope.spawn(|_| add_one(&done));
                    scope.spawn_fifo(|_| add_one(&done));
                    scope.spawn_broadcast(|_, _| add_one(&done));
                });
            });
            assert_eq!(done.into_inner(), 2 + workers);
        });
    }
}

/// They are strangers to the inner scope, and in its way.
#[test]
fn tasks_of_an_outer_scope_wait_for_the_inner_one() {
    for waiting in [Waiting::Below, Waiting::Anything] {
        in_time(move || {
            let pool = Pool::new(1).unwrap();
            let (inside, too_early) = (AtomicBool::new(false), AtomicUsize::new(0));
            let (mine, others) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let stranger = || {
                too_early.fetch_add(usize::from(inside.load(Ordering::Acquire)), Ordering::Relaxed);
                add_one(&others);
            };
            pool.run(|w| {
                w.scope_waiting(waiting, |w, outer| {
                    outer.spawn_on(w, |_, _| stranger());
                    inside.store(true, Ordering::Release);
                    w.scope_waiting(Waiting::Below, |w, inner| {
                        for _ in 0..3 {
                            inner.spawn_on(w, |w, _| {
                                outer.spawn_on(w, |_, _| stranger());
                                add_one(&mine);
                            });
                            outer.spawn_fifo(|_| stranger());
                        }
                    });
                    assert_eq!(mine.load(Ordering::Acquire), 3);
                    inside.store(false, Ordering::Release);
                });
            });
            assert_eq!((too_early.into_inner(), others.into_inner()), (0, 7));
        });
    }
}

/// The thief has another worker's seat: it stands in for one that blocks.
#[test]
fn what_a_stand_in_forks_is_stolen_back() {
    in_time(|| {
        let pool = Pool::builder().workers(2).stand_ins(1).build().unwrap();
        let (blocks, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.run(|w| {
            let blocked = |w: &Worker| {
                w.blocking(|| {
                    blocks.store(true, Ordering::Release);
                    wait_until(&ends);
                });
            };
            let other = |w: &Worker| {
                wait_until(&blocks);
                for _ in 0..20 {
                    let (stolen, stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
                    w.join_waiting(
                        Waiting::Below,
                        |_| wait_until(&stolen),
                        |w| {
                            stolen.store(true, Ordering::Release);
                            let fork = |_: &Worker| stolen_back.store(true, Ordering::Release);
                            w.join(|_| wait_until(&stolen_back), fork);
                        },
                    );
                }
                ends.store(true, Ordering::Release);
            };
            w.join(other, blocked);
        });
    });
}

/// A stack of the same worker that is ready, but has nothing to do with the scope, wants a lock that the waiter holds.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn stacks_of_strangers_wait_while_a_scope_does() {
    for _ in 0..10 {
        in_time(|| {
            let pool = Pool::new(2).unwrap();
            let (lock, permits, is_over) = (Mutex::new(0), Semaphore::new(0), Semaphore::new(0));
            let [is_kept, goes, is_stolen]: [AtomicBool; 3] = Default::default();
            pool.run(|w| {
                w.scope(|w, all| {
                    // The other worker comes when the lock is held.
                    all.spawn_on(w, |_, _| {
                        is_kept.store(true, Ordering::Release);
                        wait_until(&goes);
                    });
                    wait_until(&is_kept);
                    all.spawn_on(w, |w, _| {
                        let mut locked = lock.lock().unwrap();
                        permits.add_permits(1);
                        w.scope_waiting(Waiting::Below, |w, scope| {
                            scope.spawn_on(w, |_, _| {
                                is_stolen.store(true, Ordering::Release);
                                thread::sleep(Duration::from_millis(50));
                            });
                            goes.store(true, Ordering::Release);
                            wait_until(&is_stolen);
                        });
                        *locked += 1;
                        drop(locked);
                        is_over.add_permits(1);
                    });
                    // Comes first: the newest.
                    all.spawn_on(w, |_, _| {
                        block_on(permits.acquire()).unwrap().forget();
                        *lock.lock().unwrap() += 1;
                        is_over.add_permits(1);
                    });
                    block_on(is_over.acquire_many(2)).unwrap().forget();
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 2);
        });
    }
}

/// What has begun on a stack while the first half waited goes on to wait for what it pushes to the same deque; even if that lies deeper there
/// than the second half did.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn a_second_half_on_a_stack_gets_what_it_waits_for() {
    for deeper in [0, 4] {
        for joins in [true, false] {
            in_time(move || {
                let pool = Pool::new(1).unwrap();
                let (inner, has_begun) = (Semaphore::new(0), Arc::new(Semaphore::new(0)));
                let (goes_on, oldest) = (Semaphore::new(0), Arc::clone(&has_begun));
                let first = || {
                    block_on(has_begun.acquire()).unwrap().forget();
                    goes_on.add_permits(1);
                };
                let second = |w: &Worker| {
                    block_on(goes_on.acquire()).unwrap().forget();
                    w.scope(|w, scope| {
                        scope.spawn_on(w, |_, _| inner.add_permits(1));
                        block_on(inner.acquire()).unwrap().forget();
                    });
                };
                pool.run(|w| {
                    // They run while the first half waits, and leave the deque shorter.
                    w.spawn(move |_| oldest.add_permits(1));
                    (0..deeper).for_each(|_| w.spawn(|_| ()));
                    if joins {
                        w.join_waiting(Waiting::Below, |_| first(), second);
                    } else {
                        w.scope_waiting(Waiting::Below, |w, scope| {
                            scope.spawn_on(w, |w, _| second(w));
                            first();
                        });
                    }
                });
                assert_eq!(inner.available_permits(), 0);
            });
        }
    }
}

/// A task of the scope may also wait on the thread's own stack, while the scope's waiter is on another one.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn a_task_on_the_threads_own_stack_gets_on_too() {
    in_time(|| {
        let pool = Pool::new(1).unwrap();
        let signals: Arc<[Semaphore; 4]> = Arc::new(std::array::from_fn(|_| Semaphore::new(0)));
        let wait_for =
            |signals: &[Semaphore; 4], n: usize| block_on(signals[n].acquire()).unwrap().forget();
        let seen = Arc::clone(&signals);
        let runs = move |w: &Worker| {
            w.scope_waiting(Waiting::Below, |w, scope| {
                let seen = &seen;
                scope.spawn_on(w, move |w, scope| {
                    wait_for(seen, 0);
                    scope.spawn_on(w, move |_, _| wait_for(seen, 2));
                    wait_for(seen, 1);
                });
            });
            seen[3].add_permits(1);
        };
        // What the join's first half has spawned begins while the join waits: on a stack.
        pool.run(|w| w.join(|w| w.spawn(runs), |_| ()));
        for signal in &signals[..3] {
            thread::sleep(Duration::from_millis(20));
            signal.add_permits(1);
        }
        wait_for(&signals, 3);
    });
}

/// Each of the scopes needs the other one's worker for a part of its broadcast.
#[test]
fn scopes_that_broadcast_do_not_wait_for_each_other() {
    const WORKERS: usize = 2;
    for early in [true, false] {
        in_time(move || {
            let pool = Pool::builder().workers(WORKERS).waiting(Waiting::Below).build().unwrap();
            for _ in 0..20 {
                let (both_wait, parts) = (Barrier::new(WORKERS), AtomicUsize::new(0));
                let broadcasts = |w: &Worker| {
                    w.scope(|w, scope| {
                        if early {
                            both_wait.wait();
                            scope.spawn_broadcast(|_, _| add_one(&parts));
                        } else {
                            // The waiter has begun to wait.
                            scope.spawn_on(w, |_, scope| {
                                both_wait.wait();
                                scope.spawn_broadcast(|_, _| add_one(&parts));
                            });
                        }
                    });
                };
                // Below the join there is a part for each worker, so it must not wait for what lies there alone.
                pool.run(|w| w.join_waiting(Waiting::Anything, broadcasts, broadcasts));
                assert_eq!(parts.into_inner(), WORKERS * WORKERS);
            }
        });
    }
}
