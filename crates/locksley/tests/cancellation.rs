//! Cancellation: no task begins after it, tasks that have begun are waited for, and no result is
//! lost.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{message, on_worker, pools, wait_for};
use locksley::loops::par;
use locksley::{Cancellation, Cancelled, Pool, Scope, Spawn, Worker, scope_until};

/// Counts the values that are alive.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(alive: &'c AtomicUsize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_child_is_cancelled_with_its_parent_and_not_vice_versa() {
    let root = Cancellation::new();
    let (left, right) = (root.child(), root.child());
    let below = left.child();
    left.cancel();
    assert_eq!(below.check(), Err(Cancelled));
    assert_eq!((right.check(), root.check()), (Ok(()), Ok(())));
    let clone = root.clone();
    drop((left, below));
    clone.cancel();
    assert!(root.is_cancelled() && right.is_cancelled() && right.child().is_cancelled());
}

#[test]
fn a_long_chain_of_children_is_dropped_in_bounded_stack() {
    let root = Cancellation::new();
    let mut last = root.clone();
    for _ in 0..1_000_000 {
        last = last.child();
    }
    assert!(!last.is_cancelled());
    root.cancel();
    assert!(last.is_cancelled());
    assert!(format!("{last:?}").contains("is_cancelled: true"));
    drop(root);
    drop(last);
}

#[test]
fn a_token_that_is_not_cancelled_changes_nothing() {
    for pool in pools() {
        let (token, count) = (Cancellation::new(), AtomicUsize::new(0));
        let result = pool.install(|_| {
            locksley::scope_until(&token, |scope| {
                for _ in 0..100 {
                    scope.spawn(|scope| {
                        scope.spawn(|_| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                        scope.spawn_with(Spawn::Fifo, |_, _| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                }
                "done"
            })
        });
        assert_eq!((result, count.into_inner()), (Ok("done"), 200));
        assert!(!token.is_cancelled());
    }
}

#[test]
fn tasks_that_have_not_begun_are_dropped_before_the_scope_ends() {
    let (token, alive, begun) = (Cancellation::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let own = token.child();
    let result = Pool::new(1).unwrap().install(|_| {
        locksley::scope_until(&own, |scope| {
            for n in 0..10 {
                let counted = Counted::new(&alive);
                let (begun, own) = (&begun, &own);
                // The worker takes the newest first.
                scope.spawn(move |_| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if n == 7 {
                        own.cancel();
                    }
                    drop(counted);
                });
            }
            assert_eq!(alive.load(Ordering::Relaxed), 10);
        })
    });
    assert_eq!(result, Err(Cancelled));
    assert_eq!((begun.into_inner(), alive.into_inner()), (3, 0));
    assert!(!token.is_cancelled(), "only the child was cancelled");
}

#[test]
fn a_token_that_was_cancelled_before_keeps_all_from_beginning() {
    let token = Cancellation::new();
    token.cancel();
    let began = AtomicBool::new(false);
    let begin = || began.store(true, Ordering::Relaxed);
    assert_eq!(scope_until(&token, |_| begin()), Err(Cancelled));
    assert_eq!(par(0..10).cancel(&token).for_each(|_| begin()), Err(Cancelled));
    assert_eq!(par(0..0).cancel(&token).map(|_: i32| begin()), Err(Cancelled));
    assert!(!began.into_inner());
}

#[test]
fn a_complete_result_is_returned_after_a_late_cancellation() {
    let token = Cancellation::new();
    let result = scope_until(&token, |_| {
        token.cancel();
        5
    });
    assert_eq!(result, Ok(5), "all of it began");
}

#[test]
fn a_scope_waits_for_tasks_that_have_begun() {
    let pool = Pool::new(2).unwrap();
    let (token, begun, may_end, ended) = (
        Cancellation::new(),
        AtomicBool::new(false),
        AtomicBool::new(false),
        AtomicBool::new(false),
    );
    let result = pool.install(|_| {
        locksley::scope_until(&token, |scope| {
            scope.spawn(|_| {
                begun.store(true, Ordering::Release);
                wait_for(&may_end);
                assert!(token.is_cancelled());
                ended.store(true, Ordering::Release);
            });
            wait_for(&begun);
            token.cancel();
            may_end.store(true, Ordering::Release);
        })
    });
    assert_eq!(result, Ok(()), "both began");
    assert!(ended.into_inner());
}

#[test]
fn inner_scopes_are_cancelled_with_outer_ones_and_not_vice_versa() {
    for pool in pools() {
        pool.install(|_| {
            let outer = Cancellation::new();
            let outcome = locksley::scope_until(&outer, |_| {
                let own = outer.child();
                let inner = locksley::scope_until(&own, |inner| {
                    own.cancel();
                    inner.spawn(|_| unreachable!());
                });
                assert_eq!((inner, outer.check()), (Err(Cancelled), Ok(())));
                let own = outer.child();
                let inner = locksley::scope_until(&own, |inner| {
                    outer.cancel();
                    inner.spawn(|_| unreachable!());
                    own.check()
                });
                assert_eq!(inner, Err(Cancelled));
            });
            assert_eq!(outcome, Ok(()));
        });
    }
}

#[test]
fn a_panic_takes_precedence_over_the_error() {
    for pool in pools() {
        let (token, alive) = (Cancellation::new(), AtomicUsize::new(0));
        let own = token.child();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|_| {
                locksley::scope_until(&own, |scope| {
                    for n in 0..50 {
                        let counted = Counted::new(&alive);
                        let own = &own;
                        scope.spawn(move |_| {
                            let _counted = counted;
                            if n == 49 {
                                own.cancel();
                                panic!("and cancelled");
                            }
                        });
                    }
                })
            })
        }));
        assert_eq!(message(&*caught.unwrap_err()), "and cancelled");
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|_| {
                par(0..1000).cancel(&token).for_each(|n| {
                    if n == 0 {
                        token.cancel();
                        panic!("in a loop");
                    }
                })
            })
        }));
        assert_eq!(message(&*caught.unwrap_err()), "in a loop");
        assert_eq!(alive.into_inner(), 0);
    }
}

#[test]
fn a_panic_of_a_dropped_closure_arrives() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("dropped");
            }
        }
    }
    let caught = catch_unwind(AssertUnwindSafe(|| {
        Pool::new(1).unwrap().install(|_| {
            let token = Cancellation::new();
            locksley::scope_until(&token, |scope| {
                let loud = Loud;
                scope.spawn(move |_| drop(loud));
                token.cancel();
            })
        })
    }));
    assert_eq!(message(&*caught.unwrap_err()), "dropped");
}

#[test]
fn loops_that_are_not_cancelled_have_the_usual_results() {
    let token = Cancellation::new();
    for pool in pools() {
        let squares = pool.install(|_| par(0..10_001_u64).cancel(&token).map(|n| n * n));
        let squares = squares.unwrap();
        assert!(squares.iter().enumerate().all(|(n, &square)| square == (n * n) as u64));
        let sum = pool.install(|_| {
            let all = par(&squares).cancel(&token);
            all.reduce(|| 0, |sum, &square| sum + square, |a, b| a + b)
        });
        assert_eq!(sum, Ok(squares.iter().sum()));
        let roots: Vec<f32> = (1..5000).map(|n| (n as f32).sqrt()).collect();
        let sum = || par(&roots).grain(64);
        let with = sum().cancel(&token).reduce(|| 0.0, |a, b| a + b, |a, b| a + b);
        let without = sum().reduce(|| 0.0, |a, b| a + b, |a, b| a + b);
        assert_eq!(with.map(f32::to_bits), Ok(without.to_bits()));
    }
}

#[test]
fn a_loop_stops_between_its_leaves() {
    const ITEMS: usize = 1 << 30; // takes seconds if it is not stopped
    for pool in pools() {
        let (token, visited) = (Cancellation::new(), AtomicUsize::new(0));
        let result = pool.install(|_| {
            par(0..ITEMS).cancel(&token).for_each(|_| {
                if visited.fetch_add(1, Ordering::Relaxed) == 5000 {
                    token.cancel();
                }
            })
        });
        assert_eq!(result, Err(Cancelled));
        assert!((5001..ITEMS / 2).contains(&visited.into_inner()));
    }
}

#[test]
fn results_of_a_loop_that_was_stopped_are_dropped() {
    for pool in pools() {
        let (token, alive, made) = (Cancellation::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let result = pool.install(|_| {
            par(0..100_000_u32).cancel(&token).map(|n| {
                made.fetch_add(1, Ordering::Relaxed);
                if n == 10 {
                    token.cancel();
                }
                // Slow enough that the loop divides.
                (0..500).for_each(|_| std::hint::spin_loop());
                Counted::new(&alive)
            })
        });
        assert!(result.is_err());
        assert!(made.load(Ordering::Relaxed) < 100_000);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

/// A tree of tasks that is cancelled in the middle. Each closure runs or is dropped, once.
#[test]
fn each_task_runs_or_is_dropped() {
    struct Counts {
        made: AtomicUsize,
        run: AtomicUsize,
        alive: AtomicUsize,
    }
    fn grow<'s>(_: &Worker, scope: &Scope<'s>, counts: &'s Counts, depth: u32) {
        counts.run.fetch_add(1, Ordering::Relaxed);
        if depth == 0 {
            return;
        }
        for _ in 0..2 {
            counts.made.fetch_add(1, Ordering::Relaxed);
            let counted = Counted::new(&counts.alive);
            scope.spawn(move |scope| {
                on_worker(|w| {
                    grow(w, scope, counts, depth - 1);
                    drop(counted);
                })
            });
        }
    }
    let mut stopped = 0;
    for pool in pools() {
        for after in [0, 1, 10, 100, 1000, 10_000] {
            let token = Cancellation::new();
            let [made, run, alive] = Default::default();
            let counts = Counts { made, run, alive };
            let result = std::thread::scope(|threads| {
                threads.spawn(|| {
                    while counts.run.load(Ordering::Relaxed) < after.min(1500) {
                        std::thread::yield_now();
                    }
                    token.cancel();
                });
                pool.install(|_| {
                    locksley::scope_until(&token, |scope| {
                        on_worker(|w| grow(w, scope, &counts, 10))
                    })
                })
            });
            let [made, run, alive] =
                [counts.made, counts.run, counts.alive].map(AtomicUsize::into_inner);
            assert_eq!(alive, 0);
            match result {
                // The body runs, too, and was not made by `spawn`.
                Ok(()) => assert_eq!((made, run), (2046, 2047)),
                Err(Cancelled) => {
                    assert!(run <= made, "{made} made, {run} run, and the body");
                    stopped += 1;
                }
            }
        }
    }
    assert!(stopped > 0, "some were cancelled in time");
}

#[test]
fn any_thread_may_cancel_a_token() {
    let pool = Pool::new(2).unwrap();
    let token = Arc::new(Cancellation::new());
    let begun = Arc::new(AtomicBool::new(false));
    let (its_token, has_begun) = (Arc::clone(&token), Arc::clone(&begun));
    let handle = pool.spawn_future(async move {
        while its_token.check().is_ok() {
            has_begun.store(true, Ordering::Release);
            locksley::task::yield_now().await;
        }
        "stopped"
    });
    wait_for(&begun);
    token.cancel();
    assert_eq!(handle.join().unwrap(), "stopped");
}
