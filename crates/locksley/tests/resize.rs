//! Pools that are resized while they work.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use common::{AlwaysAsleep, RESTLESS, Sleepy, fall_silent, fib, in_time, wait_for};
use locksley::idle::{Abp, Balanced, Bws};
use locksley::{BuildError, Pool, PoolBuilder, Spawn, Worker};

const SOON: Duration = Duration::from_secs(20);
/// For waits that depend on a sentinel, which may help after ten seconds only, on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// Pools of four workers, one for each idle policy.
fn pools() -> [Pool; 6] {
    let builder = || Pool::builder().workers(4);
    let builders: [PoolBuilder; 6] = [
        builder().idle_policy(Balanced::default()),
        builder().idle_policy(Bws::default()),
        builder().idle_policy(Abp::default()),
        builder().idle_policy(Sleepy),
        builder().idle_policy(RESTLESS),
        builder().idle_policy(AlwaysAsleep),
    ];
    builders.map(|builder| builder.build().unwrap())
}

/// Runs a long test on all pools at the same time. If the system does not report the usage of
/// threads, a sentinel helps after ten seconds.
fn with_each_at_once(test: impl Fn(Pool) + Sync) {
    thread::scope(|scope| {
        for pool in pools() {
            let test = &test;
            scope.spawn(move || test(pool));
        }
    });
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
        // On a busy machine the only awake worker may be preempted for so long that it seems to be
        // blocked. So some measurements may show more workers, if ten show one.
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

#[test]
fn a_blocked_worker_is_helped_in_a_smaller_pool() {
    with_each_at_once(|pool| {
        pool.resize(1).unwrap();
        // It waits first for its own task, and then for one from outside.
        let (sender, receiver) = channel();
        let received = pool.install(move |w| {
            w.join(|_| receiver.recv_timeout(LONG), |_| sender.send(1).unwrap()).0
        });
        assert_eq!(received, Ok(1));
        let (sender, receiver) = channel();
        let (begun, has_begun) = channel();
        thread::scope(|scope| {
            let pool = &pool;
            let blocked = scope.spawn(move || {
                pool.install(move |_| {
                    begun.send(()).unwrap();
                    receiver.recv_timeout(LONG)
                })
            });
            has_begun.recv().unwrap();
            pool.spawn(move |_| sender.send(2).unwrap());
            assert_eq!(blocked.join().unwrap(), Ok(2));
        });
    });
}

/// This test takes ten seconds.
#[test]
fn a_worker_that_spins_is_helped_in_a_smaller_pool() {
    let pool = Pool::new(2).unwrap();
    pool.resize(1).unwrap();
    let flag = AtomicBool::new(false);
    pool.install(|w| w.join(|_| wait_for(&flag), |_| flag.store(true, Ordering::Release)));
    // A pool of one worker would hang.
    assert!(flag.into_inner());
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
    // Not `Abp`: its thieves stay awake at the lowest priority while other threads want the
    // processors.
    let with_policies: [fn(PoolBuilder) -> PoolBuilder; 3] = [
        |pool| pool.idle_policy(Balanced::default()),
        |pool| pool.idle_policy(Bws::default()),
        |pool| pool.idle_policy(Sleepy),
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
        |pool| pool.idle_policy(Bws::default()),
        |pool| pool.idle_policy(Sleepy),
    ];
    for with_policy in with_policies {
        for (workers, size) in [(2, 1), (4, 1), (4, 2)] {
            in_time(move || {
                let builder = with_policy(Pool::builder().workers(workers).with_current_thread());
                let pool = builder.build().unwrap();
                pool.resize(size).unwrap();
                assert_eq!(pool.size(), size);
                pool.install(|w| fib(w, 12));
                fall_silent(SOON / 2, || pool.stats().workers[1..].to_vec());
                assert_eq!(pool.install(|w| fib(w, 12)), 144);
            });
        }
    }
}

/// The clock of a thread that has ended cannot be read. The sentinel goes by the others. (If
/// threads have no clocks, the help comes later.)
#[cfg(all(target_os = "linux", not(locksley_portable)))]
#[test]
fn a_blocked_worker_is_helped_after_a_borrowed_thread_has_ended() {
    let build = || {
        let builder = Pool::builder().workers(3).with_current_thread();
        let pool = builder.build().unwrap();
        pool.resize(1).unwrap();
        pool
    };
    let pool = thread::spawn(build).join().unwrap();
    let (sender, receiver) = channel();
    let timed_parks = || pool.stats().workers.iter().map(|worker| worker.wakeups).sum::<u64>();
    let before = timed_parks();
    let received =
        pool.install(move |w| w.join(|_| receiver.recv_timeout(LONG), |_| sender.send(1)).0);
    assert_eq!(received, Ok(1));
    // A timed park of the sentinel lasts ten milliseconds, or longer if other threads want the
    // processors. It helps after half a second without any working worker, which is at most fifty
    // timed parks; or after ten seconds in which one task has stayed the oldest, which is a
    // thousand.
    let timed_parks = timed_parks() - before;
    let has_clocks = pool.stats().workers[1].processor_time.is_some();
    assert!(timed_parks < 500 || !has_clocks, "{timed_parks} timed parks");
}
