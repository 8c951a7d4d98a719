//! Locks: exclusion, order, and release.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_intervals::{self as intervals, IntervalLock, Root};

use crate::common::{message, pools};

#[test]
fn locks_exclude_and_are_given_in_order() {
    for pool in pools() {
        let (one, two) = (IntervalLock::new(Vec::new()), IntervalLock::new(0));
        let inside = AtomicUsize::new(0);
        let result = Root::new("root").on(&pool).run(|root| {
            for n in 0..60 {
                let mut user = root.interval("user");
                // Named in either order, and taken in a fixed one.
                let (mut first, mut second) = if n % 2 == 0 {
                    let first = user.lock(&one);
                    (first, user.lock(&two))
                } else {
                    let second = user.lock(&two);
                    (user.lock(&one), second)
                };
                user.spawn({
                    let inside = &inside;
                    move |cx| {
                        assert_eq!(inside.fetch_add(1, Ordering::AcqRel), 0);
                        first.get_mut(cx).push(n);
                        *second.get_mut(cx) += 1;
                        assert_eq!(first.get_mut(cx).len(), *second.get_mut(cx));
                        // The locks are held until the children have ended.
                        cx.interval("child").spawn(move |_| {
                            assert_eq!(inside.fetch_sub(1, Ordering::AcqRel), 1);
                        });
                    }
                });
            }
        });
        assert_eq!(result, Ok(()));
        let mut order = one.into_inner();
        if pool.workers() == 1 {
            assert!(order.is_sorted(), "first come, first served: {order:?}");
        }
        order.sort_unstable();
        assert!(order.into_iter().eq(0..60));
        assert_eq!(two.into_inner(), 60);
    }
}

#[test]
fn waiting_for_a_lock_takes_up_no_worker() {
    let pool = Pool::new(1).unwrap();
    let lock = IntervalLock::new(0);
    let order = Mutex::new(Vec::new());
    let result = Root::new("root").on(&pool).run(|root| {
        let mut holder = root.interval("holder");
        let mut key = holder.lock(&lock);
        let order = &order;
        holder.spawn(move |cx| {
            *key.get_mut(cx) += 1;
            cx.interval("inside").spawn(move |_| order.lock().unwrap().push("inside"));
        });
        let mut waiter = root.interval("waiter");
        let mut key = waiter.lock(&lock);
        waiter.spawn(move |cx| {
            order.lock().unwrap().push("waiter");
            *key.get_mut(cx) += 1;
        });
        root.interval("free").spawn(move |_| order.lock().unwrap().push("free"));
    });
    assert_eq!(result, Ok(()));
    assert_eq!(order.into_inner().unwrap(), ["free", "inside", "waiter"]);
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn locks_are_given_back_after_a_panic_and_not_taken_by_what_does_not_run() {
    let lock = IntervalLock::new(0);
    let end = catch_unwind(AssertUnwindSafe(|| {
        intervals::run("root", |root| {
            let mut panics = root.interval("panics");
            let mut key = panics.lock(&lock);
            let panics = panics.spawn(move |cx| {
                *key.get_mut(cx) += 1;
                panic!("with the lock");
            });
            for after in [false, true] {
                let builder = root.interval("user");
                let mut builder = if after { builder.after(panics) } else { builder };
                let mut key = builder.lock(&lock);
                builder.spawn(move |cx| *key.get_mut(cx) += 10);
            }
        })
    }));
    assert_eq!(message(&*end.unwrap_err()), "with the lock");
    assert_eq!(lock.into_inner(), 11);
}

/// An interval with a failed start takes no lock and releases none.
#[test]
fn a_failed_start_leaves_its_locks_alone() {
    let lock = IntervalLock::new(());
    for _ in 0..3 {
        let end = intervals::run("root", |root| {
            let cancelled = root.interval("cancelled").spawn(|cx| cx.cancel("no more arrows"));
            let mut never = root.interval("never").after(cancelled);
            let _key = never.lock(&lock);
            never.spawn(|_| unreachable!());
        });
        assert!(end.is_err());
    }
    // Also if the dependency has failed before the interval is created.
    let pool = Pool::new(2).unwrap();
    let end = Root::new("root").on(&pool).run(|root| {
        let cancelled = root.interval("cancelled").spawn(|cx| cx.cancel("no more arrows"));
        while !cancelled.end().has_occurred() {
            std::thread::yield_now();
        }
        let mut never = root.interval("never").after(cancelled);
        let _key = never.lock(&lock);
        never.spawn(|_| unreachable!());
    });
    assert!(end.is_err());
    let inside = AtomicUsize::new(0);
    let result = Root::new("root").on(&pool).run(|root| {
        for _ in 0..2 {
            let mut user = root.interval("user");
            let _key = user.lock(&lock);
            user.spawn(|_| {
                inside.fetch_add(1, Ordering::AcqRel);
                // With more than one permit, the other interval would run.
                let patience = Instant::now() + Duration::from_millis(100);
                while Instant::now() < patience {
                    assert_eq!(inside.load(Ordering::Acquire), 1, "two have the lock");
                    std::thread::yield_now();
                }
                inside.fetch_sub(1, Ordering::AcqRel);
            });
        }
    });
    assert_eq!(result, Ok(()));
}

#[test]
fn roots_share_a_lock() {
    let pools = [Pool::new(2).unwrap(), Pool::new(2).unwrap()];
    let lock = IntervalLock::new(0);
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| {
                for _ in 0..20 {
                    let result = Root::new("root").on(pool).run(|root| {
                        for _ in 0..50 {
                            let mut user = root.interval("user");
                            let mut key = user.lock(&lock);
                            user.spawn(move |cx| *key.get_mut(cx) += 1);
                        }
                    });
                    assert_eq!(result, Ok(()));
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), 2000);
}

#[test]
fn a_holders_child_has_no_right_to_the_key() {
    let lock = IntervalLock::new(0);
    let end = catch_unwind(AssertUnwindSafe(|| {
        intervals::run("root", |root| {
            let mut holder = root.interval("holder");
            let mut key = holder.lock(&lock);
            holder.spawn(move |cx| {
                cx.interval("child").spawn(move |cx| *key.get_mut(cx));
            });
        })
    }));
    assert_eq!(message(&*end.unwrap_err()), "`child` does not name the lock of this key");
}
