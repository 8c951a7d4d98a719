//! Pools that are resized while they work.

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use common::idle_policies::{Helping, RESTLESS, SLEEPY, Yielding};
use common::{AlwaysAsleep, fall_silent, fib, in_time};
use locksley::idle::Balanced;
use locksley::{BuildError, Pool, PoolBuilder, Spawn, Worker};

const SOON: Duration = Duration::from_secs(20);

/// Pools of four workers, one for each idle policy.
fn pools() -> [Pool; 6] {
    let builder = || Pool::builder().workers(4).own_threads_only();
    let builders: [PoolBuilder; 6] = [
        builder().idle_policy(Balanced::default()),
        builder().idle_policy(Helping { attempts: 64 }),
        builder().idle_policy(Yielding { attempts: 64, sleep_after: Some(64) }),
        builder().idle_policy(SLEEPY),
        builder().idle_policy(RESTLESS),
        builder().idle_policy(AlwaysAsleep),
    ];
    builders.map(|builder| builder.build().unwrap())
}

/// The largest number of tasks that run at the same time, of many short ones.
fn most_at_work(pool: &Pool) -> usize {
    let (at_work, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.install(|_| {
        locksley::loops::par(0..100).for_each(|_| {
            let now = at_work.fetch_add(1, Ordering::AcqRel) + 1;
            most.fetch_max(now, Ordering::AcqRel);
            let end = Instant::now() + Duration::from_micros(100);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            at_work.fetch_sub(1, Ordering::AcqRel);
        });
    });
    most.into_inner()
}

#[test]
fn sizes_are_from_one_to_the_number_of_workers() {
    let pool = Pool::builder().workers(2).max_workers(5).build().unwrap();
    assert_eq!((pool.size(), pool.workers()), (2, 5));
    for size in [1, 5, 3] {
        pool.resize(size).unwrap();
        assert_eq!((pool.size(), pool.workers()), (size, 5));
    }
    for wrong in [0, 6, usize::MAX] {
        match pool.resize(wrong).unwrap_err() {
            BuildError::NoWorkers => assert_eq!(wrong, 0),
            BuildError::TooManyWorkers { asked, most } => assert_eq!((asked, most), (wrong, 5)),
            other => panic!("{other}"),
        }
    }
    assert_eq!(pool.size(), 3, "an error changes nothing");
    let wrong = Pool::builder().workers(3).max_workers(2).build();
    assert!(matches!(wrong, Err(BuildError::TooManyWorkers { asked: 3, most: 2 })));
    let wrong = Pool::builder().workers(3).max_workers(0).build();
    assert!(matches!(wrong, Err(BuildError::NoWorkers)));
    let wrong = Pool::builder().workers(1).max_workers(65_535).build();
    assert!(matches!(wrong, Err(BuildError::TooManyWorkers { .. })));
    assert_eq!(Pool::builder().max_workers(1).build().unwrap().size(), 1);
}

#[test]
fn a_smaller_size_keeps_workers_asleep() {
    for pool in pools() {
        pool.resize(1).unwrap();
        // The workers over the new size end their tasks first. And two workers may begin a task at
        // the same time, of which one then sleeps. So some measurements may show more workers, if
        // ten show one.
        let mut seen = Vec::new();
        while seen.iter().filter(|&&most| most == 1).count() < 10 {
            assert!(seen.len() < 200, "{pool:?}: {seen:?}");
            seen.push(most_at_work(&pool));
        }
    }
}

#[test]
fn a_larger_size_wakes_workers_again() {
    for pool in pools() {
        for size in [1, 2, 4, 1, 3] {
            pool.resize(size).unwrap();
            assert_eq!(pool.install(|w| fib(w, 12)), 144);
        }
        pool.resize(4).unwrap();
        // All four tasks have to run at the same time.
        let here = AtomicUsize::new(0);
        pool.install(|_| {
            locksley::in_place_scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|_| {
                        here.fetch_add(1, Ordering::AcqRel);
                        while here.load(Ordering::Acquire) < 4 {
                            thread::yield_now();
                        }
                    });
                }
            });
        });
    }
}

#[test]
fn a_smaller_pool_runs_all_tasks_that_are_sent() {
    for pool in pools() {
        for size in [1, 2, 4, 3, 1] {
            pool.resize(size).unwrap();
            let (sender, receiver) = channel();
            for n in 0..100 {
                let sender = sender.clone();
                pool.spawn(move |_| {
                    locksley::spawn(move || sender.send(n).unwrap());
                });
            }
            let mut all: Vec<_> = (0..100).map(|_| receiver.recv_timeout(SOON).unwrap()).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..100));
        }
    }
}

#[test]
fn workers_over_the_size_run_tasks_that_are_pinned_to_them() {
    for pool in pools() {
        pool.resize(1).unwrap();
        for _ in 0..20 {
            assert_eq!(pool.broadcast(Worker::index), [0, 1, 2, 3]);
        }
        for index in 0..4 {
            let (sender, receiver) = channel();
            pool.spawn_with(Spawn::At(index), move |w| sender.send(w.index()).unwrap());
            assert_eq!(receiver.recv_timeout(SOON), Ok(index));
        }
    }
}

/// Waits and blocking calls of the only active worker leave room for another thread.
#[test]
fn tasks_run_while_the_only_active_worker_waits() {
    for pool in pools() {
        pool.resize(1).unwrap();
        for _ in 0..20 {
            let (sender, receiver) = channel();
            let received = pool.install(move |_| {
                locksley::spawn(move || sender.send(1).unwrap());
                locksley::blocking(|| receiver.recv_timeout(SOON))
            });
            assert_eq!(received, Ok(1));
            let sent = pool.install(|_| {
                let task = locksley::task::spawn(async { 2 });
                locksley::block_on(task)
            });
            assert_eq!(sent.unwrap(), 2);
        }
    }
}

/// As many tasks run at a time as the size says, also if they block.
#[test]
fn all_workers_within_the_size_may_block() {
    for pool in pools() {
        in_time(move || {
            for size in [1, 2, 4, 1, 3] {
                pool.resize(size).unwrap();
                let barrier = Barrier::new(size);
                pool.in_place_scope(|scope| {
                    (0..5 * size).for_each(|_| scope.spawn(|_| _ = barrier.wait()));
                });
            }
        });
    }
}

#[test]
fn futures_are_polled_in_a_smaller_pool() {
    for pool in pools() {
        let tasks: Vec<_> = (0..8_u64)
            .map(|n| {
                pool.spawn_future(async move {
                    for _ in 0..50 {
                        locksley::task::yield_now().await;
                    }
                    n
                })
            })
            .collect();
        pool.resize(1).unwrap();
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let sum: u64 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
            sender.send(sum).unwrap();
        });
        assert_eq!(receiver.recv_timeout(SOON), Ok(28));
    }
}

#[test]
fn a_pool_is_resized_all_the_time_while_it_works() {
    for pool in pools() {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for first in [1, 2] {
                let (pool, stop) = (&pool, &stop);
                scope.spawn(move || {
                    let mut size = first;
                    while !stop.load(Ordering::Acquire) {
                        pool.resize(size).unwrap();
                        size = size % 4 + 1;
                        thread::sleep(Duration::from_micros(50));
                    }
                });
            }
            for _ in 0..100 {
                assert_eq!(pool.install(|w| fib(w, 13)), 233);
                let visited = AtomicUsize::new(0);
                pool.install(|_| {
                    locksley::in_place_scope(|scope| {
                        for _ in 0..20 {
                            scope.spawn(|_| {
                                visited.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    });
                });
                assert_eq!(visited.into_inner(), 20);
            }
            stop.store(true, Ordering::Release);
        });
    }
}

#[test]
fn an_idle_pool_that_was_made_smaller_sleeps() {
    let with_policies: [fn(PoolBuilder) -> PoolBuilder; 3] = [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Helping { attempts: 64 }),
        |pool| pool.idle_policy(SLEEPY),
    ];
    for with_policy in with_policies {
        let pool = with_policy(Pool::builder().workers(4)).build().unwrap();
        pool.resize(2).unwrap();
        pool.install(|w| fib(w, 12));
        fall_silent(SOON, || pool.stats().workers);
        assert_eq!(pool.install(|w| fib(w, 12)), 144);
    }
}

/// The borrowed thread runs code outside of the pool.
#[test]
fn an_idle_pool_sleeps_whatever_a_borrowed_thread_does() {
    let with_policies: [fn(PoolBuilder) -> PoolBuilder; 3] = [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Helping { attempts: 64 }),
        |pool| pool.idle_policy(SLEEPY),
    ];
    for with_policy in with_policies {
        for (workers, size) in [(2, 1), (4, 1), (4, 2)] {
            in_time(move || {
                let builder = with_policy(Pool::builder().workers(workers).with_current_thread());
                let pool = builder.build().unwrap();
                pool.resize(size).unwrap();
                assert_eq!(pool.size(), size);
                pool.install(|w| fib(w, 12));
                fall_silent(SOON, || pool.stats().workers[1..].to_vec());
                assert_eq!(pool.install(|w| fib(w, 12)), 144);
            });
        }
    }
}
