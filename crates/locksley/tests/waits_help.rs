//! What a waiting worker runs: forks of the thief that it waits for, tasks of the scope that it
//! waits for, and parts of broadcasts. It runs other tasks only if no other thread can be had for
//! its index.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::idle_policies::SLEEPLESS;
use common::{Confined, fib, in_time, on_worker, wait_for};
use locksley::{Pool, PoolBuilder, Spawn, Worker, block_on};
use locksley_sync::Semaphore;

fn builders() -> impl Iterator<Item = PoolBuilder> {
    let builder = Pool::builder;
    [
        builder(),
        builder().idle_policy(Confined),
        builder().idle_policy(SLEEPLESS),
        builder().oldest_first(),
    ]
    .into_iter()
}

fn add_one(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::AcqRel);
}

#[test]
fn results_are_right_whatever_a_waiting_worker_runs() {
    for workers in [1, 2, 5] {
        for builder in builders() {
            let pool = builder.workers(workers).build().unwrap();
            assert_eq!(pool.install(|w| fib(w, 18)), 2584);
            let sum = AtomicUsize::new(0);
            pool.install(|_| {
                locksley::in_place_scope(|scope| {
                    for n in 0..100 {
                        let sum = &sum;
                        scope.spawn(move |scope| {
                            on_worker(|w| {
                                sum.fetch_add(fib(w, 8) as usize, Ordering::Relaxed);
                                scope.spawn(move |_| {
                                    sum.fetch_add(n, Ordering::Relaxed);
                                });
                            })
                        });
                    }
                });
            });
            assert_eq!(sum.into_inner(), 21 * 100 + 99 * 50);
        }
    }
}

/// As in rayon's issue 592: a task holds a lock across a join, and other tasks want the lock.
#[test]
fn a_waiting_worker_runs_no_other_task_that_wants_its_lock() {
    for workers in [1, 2, 4] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        for _ in 0..20 {
            let total = Mutex::new(0);
            pool.install(|_| {
                locksley::in_place_scope(|scope| {
                    for _ in 0..50 {
                        let total = &total;
                        scope.spawn(move |_| {
                            on_worker(|w| {
                                let mut total = total.lock().unwrap();
                                // Many forks: other workers steal them, and this one waits.
                                *total += fib(w, 12);
                            })
                        });
                    }
                });
            });
            assert_eq!(total.into_inner().unwrap(), 144 * 50);
        }
    }
}

/// A thief forks, and does not go on until another thread has run the fork: mostly the waiting one.
/// Returns true if it was the waiting one.
fn steal_fork_back(pool: &Pool, before: &(dyn Fn(&Worker) + Sync)) -> bool {
    let (stolen, stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
    pool.install(|w| {
        let waiter = thread::current().id();
        let second = |w: &Worker| {
            stolen.store(true, Ordering::Release);
            before(w);
            let fork = |_: &Worker| {
                stolen_back.store(true, Ordering::Release);
                thread::current().id() == waiter
            };
            w.join(|_| wait_for(&stolen_back), fork).1
        };
        w.join(|_| wait_for(&stolen), second).1
    })
}

#[test]
fn a_waiting_worker_steals_back_what_its_thief_has_forked() {
    in_time(|| {
        let pool = Pool::new(2).unwrap();
        let helped = (0..200).filter(|_| steal_fork_back(&pool, &|_| ())).count();
        assert!(helped > 0, "replacements have run all forks");
    });
}

/// Before it forks, the thief spawns a future, or wakes one.
#[test]
fn a_fork_is_stolen_back_from_a_thief_that_has_made_futures_ready() {
    in_time(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..100 {
            steal_fork_back(&pool, &|_| drop(locksley::task::spawn(async {})));
            let semaphore = Arc::new(Semaphore::new(0));
            let its = Arc::clone(&semaphore);
            let waits = pool.spawn_future(async move { its.acquire().await.unwrap().forget() });
            steal_fork_back(&pool, &|_| semaphore.add_permits(1));
            waits.join().unwrap();
        }
    });
}

/// Tasks that are no descendants are ready, also in the deque of the waiting worker. Its thread
/// does not run them before the wait is over.
#[test]
fn a_waiting_thread_leaves_other_tasks_alone() {
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        for _ in 0..50 {
            let (too_early, waits) = (AtomicUsize::new(0), AtomicBool::new(true));
            let stolen = AtomicBool::new(workers == 1);
            pool.install(|w| {
                let here = thread::current().id();
                let unrelated = || {
                    let is_early = waits.load(Ordering::Acquire) && thread::current().id() == here;
                    too_early.fetch_add(usize::from(is_early), Ordering::Relaxed);
                };
                let unrelated = &unrelated;
                locksley::in_place_scope(|unrelated_scope| {
                    unrelated_scope.spawn(move |_| unrelated());
                    w.join(
                        |_| {
                            unrelated_scope.spawn(move |_| unrelated());
                            wait_for(&stolen);
                        },
                        |_| {
                            stolen.store(true, Ordering::Release);
                            (0..100).for_each(|_| thread::yield_now());
                        },
                    );
                    locksley::in_place_scope(|mine| mine.spawn(|_| ()));
                    waits.store(false, Ordering::Release);
                });
            });
            assert_eq!(too_early.into_inner(), 0);
        }
    }
}

#[test]
fn a_scope_runs_its_own_parts_of_broadcasts() {
    for workers in [1, 2, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (mine, others) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.install(|_| {
                locksley::in_place_scope(|unrelated_scope| {
                    // Other parts come before, between and after those of the inner scope.
                    unrelated_scope.spawn_broadcast(|_, _| add_one(&others));
                    locksley::in_place_scope(|scope| {
                        for _ in 0..3 {
                            scope.spawn_broadcast(|_, _| add_one(&mine));
                            unrelated_scope.spawn_broadcast(|_, _| add_one(&others));
                        }
                    });
                    assert_eq!(mine.load(Ordering::Acquire), 3 * workers);
                });
            });
            assert_eq!(others.into_inner(), 4 * workers);
        });
    }
}

/// A scope without broadcasts leaves the parts of other broadcasts alone.
#[test]
fn a_waiting_thread_leaves_parts_of_other_broadcasts_alone() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (waits, too_early) = (AtomicBool::new(true), AtomicUsize::new(0));
            pool.install(|_| {
                let here = thread::current().id();
                let unrelated = || {
                    let is_early = waits.load(Ordering::Acquire) && thread::current().id() == here;
                    too_early.fetch_add(usize::from(is_early), Ordering::Relaxed);
                };
                let unrelated = &unrelated;
                locksley::in_place_scope(|unrelated_scope| {
                    unrelated_scope.spawn_broadcast(move |_, _| unrelated());
                    locksley::in_place_scope(|scope| {
                        scope.spawn(move |_| {
                            unrelated_scope.spawn_broadcast(move |_, _| unrelated());
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
fn a_scope_runs_its_tasks_in_order() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::builder().workers(workers).own_threads_only().build().unwrap();
            for _ in 0..50 {
                let order = Mutex::new(Vec::new());
                pool.install(|_| {
                    locksley::in_place_scope(|scope| {
                        for n in 0..20 {
                            let order = &order;
                            scope
                                .spawn_with(Spawn::Fifo, move |_, _| order.lock().unwrap().push(n));
                            locksley::spawn(|| ());
                        }
                    });
                });
                let mut order = order.into_inner().unwrap();
                if workers > 1 {
                    order.sort_unstable(); // they begin in order, and may end in another one
                }
                assert!(order.into_iter().eq(0..20));
            }
        });
    }
}

/// A join in the scope pops tasks of the scope before it reaches its second half.
#[test]
fn a_scope_runs_tasks_that_a_join_has_popped_and_put_back() {
    for workers in [1, 2, 3] {
        for fifo in [false, true] {
            in_time(move || {
                let pool = Pool::builder().workers(workers).build().unwrap();
                for _ in 0..50 {
                    let count = AtomicUsize::new(0);
                    // All workers may be in such scopes at the same time.
                    pool.install(|_| {
                        locksley::in_place_scope(|all| {
                            for _ in 0..8 {
                                all.spawn(|_| {
                                    on_worker(|w| {
                                        locksley::in_place_scope(|scope| {
                                            let spawn = |_: &Worker| {
                                                if fifo {
                                                    scope.spawn_with(Spawn::Fifo, |_, _| {
                                                        add_one(&count)
                                                    });
                                                } else {
                                                    scope.spawn(|_| add_one(&count));
                                                }
                                            };
                                            w.join(spawn, |_| ());
                                            w.join(|w| w.join(spawn, |_| ()), |_| ());
                                        });
                                    })
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

/// Law 2: other workers may take such tasks, too, even before the worker waits for them.
#[test]
fn other_workers_may_take_tasks_that_a_join_has_popped_and_put_back() {
    in_time(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..100 {
            let flag = AtomicBool::new(false);
            pool.install(|w| {
                locksley::in_place_scope(|scope| {
                    let spawn = |_: &Worker| {
                        scope.spawn(|_| flag.store(true, Ordering::Release));
                    };
                    w.join(spawn, |_| ());
                    wait_for(&flag);
                });
            });
        }
    });
}

/// The deque is emptied while the body waits. Then the tasks of the scope have a lower index than
/// the tasks that were there when the scope began.
#[test]
fn a_scope_runs_tasks_that_were_spawned_after_the_deque_was_emptied() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            for _ in 0..50 {
                let (permits, count) = (Arc::new(Semaphore::new(0)), AtomicUsize::new(0));
                let oldest = Arc::clone(&permits);
                pool.install(|_| {
                    locksley::spawn(move || oldest.add_permits(1));
                    (0..4).for_each(|_| locksley::spawn(|| ()));
                    locksley::in_place_scope(|scope| {
                        block_on(permits.acquire()).unwrap().forget();
                        scope.spawn(|_| add_one(&count));
                    });
                });
                assert_eq!(count.into_inner(), 1);
            }
        });
    }
}

#[test]
fn a_scope_runs_tasks_that_were_spawned_outside_of_its_pool() {
    for workers in [1, 2] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let other = Pool::builder().workers(1).build().unwrap();
            let count = AtomicUsize::new(0);
            pool.install(|_| {
                locksley::in_place_scope(|scope| {
                    thread::scope(|threads| {
                        threads.spawn(|| scope.spawn(|_| add_one(&count)));
                        threads.spawn(|| scope.spawn_with(Spawn::Fifo, |_, _| add_one(&count)));
                    });
                    other.install(|_| scope.spawn(|_| add_one(&count)));
                });
            });
            assert_eq!(count.into_inner(), 3);
            // And a scope for tasks that the waiting worker, which is of another pool, cannot run.
            let done = AtomicUsize::new(0);
            other.install(|_| {
                pool.in_place_scope(|scope| {
                    scope.spawn(|_| add_one(&done));
                    scope.spawn_with(Spawn::Fifo, |_, _| add_one(&done));
                    scope.spawn_broadcast(|_, _| add_one(&done));
                });
            });
            assert_eq!(done.into_inner(), 2 + workers);
        });
    }
}

/// Tasks of the outer scope lie among those that the inner scope waits for.
#[test]
fn tasks_of_an_outer_scope_do_not_run_on_top_of_the_inner_one() {
    for replacements in [1, 20] {
        in_time(move || {
            let pool = Pool::builder().workers(1).replacements(replacements).build().unwrap();
            let (inside, too_early) = (AtomicBool::new(false), AtomicUsize::new(0));
            let (mine, others) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.install(|_| {
                let here = thread::current().id();
                let unrelated = || {
                    let is_early = inside.load(Ordering::Acquire) && thread::current().id() == here;
                    too_early.fetch_add(usize::from(is_early), Ordering::Relaxed);
                    add_one(&others);
                };
                let unrelated = &unrelated;
                locksley::in_place_scope(|outer| {
                    outer.spawn(move |_| unrelated());
                    inside.store(true, Ordering::Release);
                    locksley::in_place_scope(|inner| {
                        for _ in 0..3 {
                            inner.spawn(|_| {
                                on_worker(|_| {
                                    outer.spawn(move |_| unrelated());
                                    add_one(&mine);
                                })
                            });
                            outer.spawn_with(Spawn::Fifo, move |_, _| unrelated());
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

/// The thief is a replacement of a worker that blocks.
#[test]
fn a_waiting_worker_steals_back_what_a_replacement_has_forked() {
    in_time(|| {
        let pool = Pool::builder().workers(2).replacements(1).build().unwrap();
        let (blocks, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.install(|w| {
            let blocked = |_: &Worker| {
                locksley::blocking(|| {
                    blocks.store(true, Ordering::Release);
                    wait_for(&ends);
                });
            };
            let other = |w: &Worker| {
                wait_for(&blocks);
                for _ in 0..20 {
                    let (stolen, stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
                    w.join(
                        |_| wait_for(&stolen),
                        |w| {
                            stolen.store(true, Ordering::Release);
                            let fork = |_: &Worker| stolen_back.store(true, Ordering::Release);
                            w.join(|_| wait_for(&stolen_back), fork);
                        },
                    );
                }
                ends.store(true, Ordering::Release);
            };
            w.join(other, blocked);
        });
    });
}

/// Each of two scopes needs the worker of the other one for a part of its broadcast.
#[test]
fn scopes_that_broadcast_do_not_wait_for_each_other() {
    const WORKERS: usize = 2;
    for early in [true, false] {
        in_time(move || {
            let pool = Pool::builder().workers(WORKERS).build().unwrap();
            for _ in 0..20 {
                let (both_wait, parts) = (Barrier::new(WORKERS), AtomicUsize::new(0));
                let broadcasts = |_: &Worker| {
                    // Each worker has begun its part before any of them takes a task of the other.
                    both_wait.wait();
                    locksley::in_place_scope(|scope| {
                        if early {
                            scope.spawn_broadcast(|_, _| add_one(&parts));
                        } else {
                            // The worker has begun to wait.
                            scope.spawn(|scope| {
                                both_wait.wait();
                                scope.spawn_broadcast(|_, _| add_one(&parts));
                            });
                        }
                    });
                };
                pool.broadcast(broadcasts);
                assert_eq!(parts.into_inner(), WORKERS * WORKERS);
            }
        });
    }
}

/// Tasks that the first half has left run after the second half, and need no other thread.
#[test]
fn tasks_that_a_first_half_leaves_stay_with_its_worker() {
    let pool = Pool::builder().workers(1).replacements(0).build().unwrap();
    let order = Mutex::new(Vec::new());
    let note = |what| order.lock().unwrap().push(what);
    pool.install(|w| {
        locksley::in_place_scope(|scope| {
            let first = |_: &Worker| {
                scope.spawn(|_| note("left first"));
                scope.spawn(|_| note("left last"));
            };
            w.join(first, |_| note("second"));
        });
    });
    assert_eq!(order.into_inner().unwrap(), ["second", "left last", "left first"]);
}

fn grow(w: &Worker, depth: usize, count: &AtomicUsize) {
    add_one(count);
    if depth == 0 {
        return;
    }
    locksley::in_place_scope(|scope| {
        let branch = |_: &Worker| scope.spawn(move |_| on_worker(|w| grow(w, depth - 1, count)));
        w.join(branch, branch);
        scope.spawn(move |_| add_one(count));
    });
}

/// The tasks of the scopes also lie in the deques of workers that wait. At the limit of
/// replacements, the last thread runs any ready task.
#[test]
fn a_pool_does_not_deadlock_because_all_its_threads_wait() {
    let built: [fn(usize) -> Pool; 4] = [
        |workers| Pool::builder().workers(workers).build().unwrap(),
        |workers| Pool::builder().workers(workers).replacements(0).build().unwrap(),
        |workers| Pool::builder().workers(workers).replacements(1).build().unwrap(),
        |workers| {
            let spawn = |worker: locksley::WorkerThread| {
                thread::Builder::new().spawn(|| worker.run()).map(drop)
            };
            Pool::builder().workers(workers).build_with(spawn).unwrap()
        },
    ];
    for built in built {
        for workers in [1, 2, 4] {
            in_time(move || {
                let pool = built(workers);
                for depth in [1, 2, 6] {
                    let count = AtomicUsize::new(0);
                    pool.install(|w| grow(w, depth, &count));
                    assert_eq!(count.into_inner(), (3 << depth) - 2);
                }
            });
        }
    }
}

/// A borrowed thread does not count as one that looks for tasks, since it may never come back to
/// the pool.
#[test]
fn a_borrowed_thread_that_waits_alone_runs_any_ready_task() {
    for workers in [1, 2] {
        in_time(move || {
            let builder = Pool::builder().workers(workers).replacements(0).with_current_thread();
            let pool = builder.build().unwrap();
            for _ in 0..10 {
                let count = AtomicUsize::new(0);
                pool.install(|w| grow(w, 4, &count));
                assert_eq!(count.into_inner(), (3 << 4) - 2);
            }
        });
    }
}

/// Two pools without replacements: the workers of each wait for the other one.
#[test]
fn pools_that_wait_for_each_other_do_not_deadlock() {
    fn nested(pools: [&Pool; 2], depth: usize) -> usize {
        let [next, other] = pools;
        if depth == 0 { 0 } else { 1 + next.install(|_| nested([other, next], depth - 1)) }
    }
    in_time(|| {
        let [one, other] =
            [1, 2].map(|workers| Pool::builder().workers(workers).replacements(0).build().unwrap());
        assert_eq!(nested([&one, &other], 20), 20);
    });
}

/// At the limit of replacements, one thread waits for a scope, and the other one blocks until a
/// task of the scope has run that lies in its own deque.
#[test]
fn a_scope_at_the_limit_runs_its_task_from_the_deque_of_a_thread_that_blocks() {
    for is_in_blocking_call in [false, true] {
        in_time(move || {
            let pool = Pool::builder().workers(2).replacements(0).build().unwrap();
            pool.install(|w| {
                let other = Spawn::At(1 - w.index());
                let wait = || {
                    locksley::in_place_scope(|scope| {
                        scope.spawn_with(other, |_, scope| {
                            let (sender, receiver) = channel();
                            scope.spawn(move |_| sender.send(()).unwrap());
                            receiver.recv().unwrap();
                        });
                    })
                };
                if is_in_blocking_call { locksley::blocking(wait) } else { wait() }
            });
        });
    }
}

/// The task of the only thread becomes ready in the injector.
#[test]
fn the_last_thread_runs_any_ready_task_also_inside_of_a_blocking_call() {
    in_time(|| {
        let pool = Pool::builder().workers(1).replacements(0).build().unwrap();
        pool.install(|_| {
            locksley::blocking(|| {
                let task = locksley::task::spawn(locksley::task::yield_now());
                task.join().unwrap();
            });
        });
    });
}

/// The thread that waits for a scope parks before the other one blocks for a task in the injector.
#[test]
fn a_pool_at_the_limit_does_not_stop_whichever_thread_blocks_last() {
    in_time(|| {
        let pool = Pool::builder().workers(2).replacements(0).build().unwrap();
        let (sender, receiver) = channel();
        pool.install(|w| {
            let other = Spawn::At(1 - w.index());
            locksley::in_place_scope(|scope| {
                let pool = &pool;
                scope.spawn_with(other, move |_, _| {
                    let from_outside = || pool.spawn(move |_| sender.send(()).unwrap());
                    thread::scope(|threads| drop(threads.spawn(from_outside)));
                    thread::sleep(Duration::from_millis(10)); // longer than a wait spins
                    locksley::blocking(|| receiver.recv().unwrap());
                });
            });
        });
    });
}

/// The task that a thread joins is not in its deque, and another one is.
#[test]
fn a_thread_that_joins_a_task_runs_no_other() {
    in_time(|| {
        let pool = Pool::new(1).unwrap();
        let ready = Arc::new(Semaphore::new(0));
        let (at, joins) = (Arc::clone(&ready), Arc::new(AtomicBool::new(false)));
        let (here, other) = thread::scope(|threads| {
            let begun = Arc::clone(&joins);
            threads.spawn(move || {
                wait_for(&begun);
                ready.add_permits(1);
            });
            pool.install(|w| {
                let task = locksley::task::spawn(async move { at.acquire().await.map(drop) });
                assert!(w.run_one(), "the task waits for the semaphore");
                let (sender, receiver) = channel();
                locksley::spawn(move || sender.send(thread::current().id()).unwrap());
                joins.store(true, Ordering::Release);
                task.join().unwrap().unwrap();
                let other = locksley::blocking(|| receiver.recv().unwrap());
                (thread::current().id(), other)
            })
        });
        assert_ne!(here, other);
    });
}
