//! Cancelling a root from outside, and the error that says why.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use locksley::Pool;
use locksley_intervals::{CancelHandle, IntervalCancelled, IntervalLock, Recording, Root};

use crate::common::pools;
use crate::refusals::until;

/// Another thread cancels while the first body runs and this thread waits for the root.
#[test]
fn another_thread_cancels_a_root_that_is_waited_for() {
    for pool in pools() {
        let (handle, is_running) = (CancelHandle::new(), AtomicBool::new(false));
        let dropped = AtomicUsize::new(0);
        struct Body<'c>(&'c AtomicUsize);
        impl Drop for Body<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::AcqRel);
            }
        }
        let end = thread::scope(|threads| {
            threads.spawn(|| {
                until(&is_running);
                handle.cancel(String::from("interrupted by the user"));
                handle.cancel("too late");
            });
            Root::new(format!("build {}", 7)).on(&pool).cancel(&handle).run(|root| {
                let runs = root.interval("runs").spawn(|cx| {
                    is_running.store(true, Ordering::Release);
                    while !handle.is_cancelled() {
                        thread::yield_now();
                    }
                    let body = Body(&dropped);
                    cx.interval("inside").spawn(move |_| unreachable!("{:p}", &body));
                });
                for _ in 0..10 {
                    let body = Body(&dropped);
                    let after = root.interval("after").after(runs);
                    after.spawn(move |_| unreachable!("{:p}", &body));
                }
            })
        });
        let cancelled = end.unwrap_err();
        assert_eq!(cancelled.interval, "build 7");
        assert_eq!(cancelled.to_string(), "`build 7` was cancelled: interrupted by the user");
        assert_eq!(dropped.into_inner(), 11);
    }
}

#[test]
fn intervals_without_edges_do_not_begin_after_a_cancellation() {
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    let (handle, ran) = (CancelHandle::new(), AtomicUsize::new(0));
    let mut recording = Recording::default();
    let root = Root::new("root").on(&pool).cancel(&handle).recorded(&mut recording);
    let end = root.run(|root| {
        // The only worker is in this body.
        for _ in 0..10 {
            root.interval("free").spawn(|_| ran.fetch_add(1, Ordering::AcqRel));
        }
        handle.clone().cancel("no more arrows");
    });
    assert_eq!(end.unwrap_err().to_string(), "`root` was cancelled: no more arrows");
    assert_eq!(ran.into_inner(), 0);
    assert!(recording.intervals[1..].iter().all(|it| it.begun.is_none() && it.has_failed));
}

#[test]
fn a_root_that_was_cancelled_before_does_not_begin() {
    let handle = CancelHandle::new();
    handle.cancel("no more arrows");
    for name in ["one", "other"] {
        let end = Root::new(name).cancel(&handle).run(|_| unreachable!("it was cancelled"));
        assert_eq!(end.unwrap_err().interval, name);
    }
}

#[test]
fn a_cancellation_that_comes_too_late_changes_nothing() {
    let handle = CancelHandle::new();
    let end = Root::new("root").cancel(&handle).run(|root| {
        let first = root.interval("first").spawn(|_| ());
        root.interval("last").after(first).spawn(|_| handle.cancel("all have begun"));
        1
    });
    assert_eq!(end, Ok(1));
}

/// One interval holds the locks when the root is cancelled, and others wait for them.
#[test]
fn cancelled_intervals_pass_their_locks_on() {
    let pool = Pool::new(2).unwrap();
    let (lock, other) = (IntervalLock::new(0), IntervalLock::new(()));
    let handle = CancelHandle::new();
    let end = Root::new("root").on(&pool).cancel(&handle).run(|root| {
        for n in 0..5 {
            let mut user = root.interval("user");
            let (mut key, _other) = (user.lock(&lock), user.lock(&other));
            let handle = &handle;
            user.spawn(move |cx| {
                *key.get_mut(cx) += 1;
                assert_eq!(n, 0, "it was the first to take the locks");
                handle.cancel("no more arrows");
            });
        }
    });
    assert!(end.is_err());
    // All locks are free again.
    let end = Root::new("root").on(&pool).run(|root| {
        let mut user = root.interval("user");
        let (mut key, _other) = (user.lock(&lock), user.lock(&other));
        user.spawn(move |cx| *key.get_mut(cx) += 10);
    });
    assert_eq!(end, Ok(()));
    assert_eq!(lock.into_inner(), 11);
}

#[test]
fn the_reason_is_a_text_or_an_error() {
    #[derive(Debug)]
    struct Outer(io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the list of targets cannot be read")
        }
    }
    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let cancelled: IntervalCancelled = locksley_intervals::run("root", |root| {
        root.interval("check").spawn(|cx| {
            cx.cancel(Outer(io::Error::other("the disk is gone")));
            cx.cancel("only the first counts");
        });
    })
    .unwrap_err();
    let text = "`check` was cancelled: the list of targets cannot be read";
    assert_eq!(cancelled.to_string(), text);
    assert!(cancelled.reason.is::<Outer>());
    assert_eq!(cancelled.source().unwrap().to_string(), "the disk is gone");
}
