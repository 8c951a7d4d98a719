//! What a worker runs while a join or scope waits: `Waiting`.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::Confined;
use locksley::hunt::Abp;
use locksley::{Pool, PoolBuilder, Waiting, Worker};

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
