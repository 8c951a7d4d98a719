//! Tasks that panic or are cancelled.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use locksley::loops::par;
use locksley::{Cancellation, Worker, scope, scope_until, spawn};
use shuttle::hint::spin_loop;

use super::{Count, below, beside, builder, check, fib, with_pool, with_pool_of};

/// Does not call the panic hook, which would print the schedule.
fn panic_with(number: usize) {
    resume_unwind(Box::new(number));
}

/// The number that `task` panics with.
fn payload_of(task: impl FnOnce()) -> usize {
    let payload = catch_unwind(AssertUnwindSafe(task)).unwrap_err();
    *payload.downcast::<usize>().unwrap()
}

#[test]
fn a_panic_reaches_the_waiter_after_the_other_half_has_ended() {
    check(|| {
        with_pool(|pool| {
            let ran = Count::default();
            let (first, second) = (|_: &Worker| panic_with(3), |_: &Worker| ran.add());
            let in_first = payload_of(|| _ = pool.install(|worker| worker.join(first, second)));
            let in_second = payload_of(|| _ = pool.install(|worker| worker.join(second, first)));
            let tasks = || {
                scope(|scope| {
                    scope.spawn(|_| panic_with(4));
                    scope.spawn(|_| ran.add());
                });
            };
            let in_scope = payload_of(|| pool.install(|_| tasks()));
            assert_eq!((in_first, in_second, in_scope), (3, 3, 4));
            assert_eq!(ran.get(), 3);
            assert_eq!(pool.install(|worker| fib(worker, 3)), 2);
        });
    });
}

#[test]
fn panics_of_detached_tasks_go_to_the_handler() {
    check(|| {
        let (ran, panicked) = (Count::default(), Count::default());
        let handled = panicked.clone();
        let builder = builder(2).panic_handler(move |_| handled.add());
        with_pool_of(builder, |pool| {
            for n in 0..4 {
                let ran = ran.clone();
                pool.spawn(move |_| {
                    spawn(move || ran.add());
                    if n % 2 == 0 {
                        panic_with(n);
                    }
                });
            }
        });
        assert_eq!((ran.get(), panicked.get()), (4, 2));
    });
}

#[test]
fn a_cancelled_scope_or_loop_ends_and_says_whether_something_did_not_begin() {
    check(|| {
        with_pool(|pool| {
            let (token, begun) = (&Cancellation::new(), &Count::default());
            let other = token.clone();
            beside(
                pool,
                move |_| other.cancel(),
                |pool| {
                    let all = pool.install(|_| {
                        scope_until(token, |scope| {
                            (0..3).for_each(|_| scope.spawn(|_| begun.add()))
                        })
                    });
                    assert_eq!(all.is_ok(), begun.get() == 3);
                    let before = begun.get();
                    let items = || par(0..3_usize).grain(1).cancel(token).for_each(|_| begun.add());
                    assert_eq!(pool.install(|_| items()).is_ok(), begun.get() - before == 3);
                    while token.check().is_ok() {
                        spin_loop();
                    }
                },
            );
        });
    });
}

/// Counts its drop.
struct Counted(Count);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.add();
    }
}

#[test]
fn a_future_is_dropped_once_whether_it_ends_or_is_cancelled() {
    check(|| {
        let dropped = Count::default();
        with_pool(|pool| {
            let spawn = |ends: bool| {
                let counted = Counted(dropped.clone());
                pool.spawn_future(async move {
                    if !ends {
                        pending::<()>().await;
                    }
                    drop(counted);
                })
            };
            let (cancelled, raced, left) = (spawn(false), spawn(true), spawn(false));
            let waits = below(2) == 0;
            let end = move || {
                cancelled.abort();
                assert!(cancelled.join().unwrap_err().is_cancelled());
                raced.abort();
                if waits {
                    assert!(raced.join().err().is_none_or(|error| error.is_cancelled()));
                }
            };
            beside(pool, |_| end(), |_| drop(left)); // the pool cancels what is left
        });
        assert_eq!(dropped.get(), 3);
    });
}
