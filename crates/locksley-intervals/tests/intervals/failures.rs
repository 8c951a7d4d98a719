//! Panics and cancellations.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use locksley::Pool;
use locksley_intervals::{self as intervals, Root};

use crate::common::{message, pools};
use crate::refusals::until;

#[test]
fn the_first_panic_arrives_once() {
    for pool in pools() {
        let ran = AtomicUsize::new(0);
        let end = catch_unwind(AssertUnwindSafe(|| {
            Root::new("root").on(&pool).run(|root| {
                let panics = root.interval("panics").spawn(|cx| {
                    cx.interval("child").spawn(|_| ran.fetch_add(1, Ordering::AcqRel));
                    panic!("no more arrows")
                });
                let after = root.interval("after").after(panics).spawn(|_| unreachable!());
                let parent = root.interval("parent").end_after(after).spawn(|_| {
                    ran.fetch_add(1, Ordering::AcqRel);
                });
                root.interval("after that").after(parent).spawn(|_| unreachable!());
                root.interval("free").spawn(|_| ran.fetch_add(1, Ordering::AcqRel));
            })
        }));
        assert_eq!(message(&*end.unwrap_err()), "no more arrows");
        assert_eq!(ran.into_inner(), 3);
    }
}

#[test]
fn a_result_whose_destructor_panics_does_not_hide_a_panic() {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("the result's");
        }
    }
    let end = catch_unwind(|| {
        intervals::run("root", |root| {
            root.interval("panics").spawn(|_| panic!("the child's"));
            Broken
        })
    });
    let Err(payload) = end else { panic!("the child's panic is lost") };
    assert_eq!(message(&*payload), "the child's");
}

#[test]
fn the_roots_own_panic_comes_first_and_waits_for_the_rest() {
    let ran = AtomicBool::new(false);
    let end = catch_unwind(AssertUnwindSafe(|| {
        intervals::run("root", |root| {
            root.interval("panics").spawn(|_| panic!("the child's"));
            root.interval("goes on").spawn(|_| ran.store(true, Ordering::Release));
            panic!("the root's");
        })
    }));
    assert_eq!(message(&*end.unwrap_err()), "the root's");
    assert!(ran.into_inner());
}

#[test]
fn a_panic_in_a_child_fails_its_ancestors_ends() {
    let end = catch_unwind(|| {
        intervals::run("root", |root| {
            let parent = root.interval("parent").spawn(|cx| {
                cx.interval("child").spawn(|_| panic!("the child's"));
            });
            root.interval("after").after(parent).spawn(|_| unreachable!());
        })
    });
    assert_eq!(message(&*end.unwrap_err()), "the child's");
}

#[test]
fn a_cancellation_arrives_at_the_root() {
    let ran = AtomicBool::new(false);
    let end = intervals::run("root", |root| {
        let check = root.interval("check").spawn(|cx| cx.cancel("no more arrows"));
        let after = root.interval("after").after(check).spawn(|_| unreachable!());
        root.interval("after that").after(after).spawn(|_| unreachable!());
        root.interval("free").spawn(|_| ran.store(true, Ordering::Release));
    });
    let cancelled = end.unwrap_err();
    assert_eq!(cancelled.interval, "check");
    assert_eq!(cancelled.to_string(), "`check` was cancelled: no more arrows");
    assert!(ran.into_inner());
}

/// The destructor of a body that does not run waits for another interval, which it must not keep
/// back.
#[test]
fn a_destructor_that_waits_keeps_back_only_what_depends_on_it() {
    struct Waits(Receiver<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.recv_timeout(Duration::from_secs(20)).expect("the other runs meanwhile");
        }
    }
    let pool = Pool::new(2).unwrap();
    // In either order of the two edges.
    for is_first in [false, true] {
        let (sender, receiver) = channel();
        let end = Root::new("root").on(&pool).run(|root| {
            let fails = root.interval("fails").spawn(|cx| cx.cancel("no more arrows"));
            let ready = AtomicBool::new(false);
            let ready = Arc::new(ready);
            let told = Arc::clone(&ready);
            let ends_well = root.interval("ends well").after(fails.start()).spawn(move |_| {
                until(&told);
            });
            let sends = || {
                root.interval("sends").after(ends_well).spawn(move |_| sender.send(()).unwrap());
            };
            let waits = || {
                let waits = Waits(receiver);
                let builder = root.interval("waits").after(ends_well).after(fails);
                builder.spawn(move |_| unreachable!("{:p}", &waits));
            };
            if is_first {
                waits();
                sends();
            } else {
                sends();
                waits();
            }
            while !fails.end().has_occurred() {
                std::thread::yield_now();
            }
            ready.store(true, Ordering::Release);
        });
        assert_eq!(end.unwrap_err().interval, "fails");
    }
}
