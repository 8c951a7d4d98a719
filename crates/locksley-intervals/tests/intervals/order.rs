//! The order of intervals, their overlap, and nested roots.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use locksley::Pool;
use locksley_intervals::{self as intervals, Root};

use crate::common::pools;

#[test]
fn an_end_waits_for_children_and_for_edges() {
    for pool in pools() {
        let done = AtomicUsize::new(0);
        let add_one = || done.fetch_add(1, Ordering::AcqRel);
        let result = Root::new("root").on(&pool).run(|root| {
            let other = root.interval("other").spawn(|_| add_one());
            let parent = root.interval("parent").end_after(other).spawn(|cx| {
                for _ in 0..10 {
                    cx.interval("child").spawn(|cx| {
                        cx.interval("grandchild").spawn(|_| add_one());
                        add_one();
                    });
                }
            });
            root.interval("after").after(parent).spawn(|_| assert_eq!(add_one(), 21));
        });
        assert_eq!(result, Ok(()));
        assert_eq!(done.into_inner(), 22);
    }
}

#[test]
fn what_has_no_order_overlaps() {
    let pool = Pool::new(3).unwrap();
    let all = Barrier::new(3);
    let result = Root::new("root").on(&pool).run(|root| {
        let first = root.interval("first").spawn(|_| {
            all.wait();
        });
        // After the start, so at the same time.
        root.interval("beside").after(first.start()).spawn(|_| {
            all.wait();
        });
        all.wait();
    });
    assert_eq!(result, Ok(()));
}

#[test]
fn a_long_chain_neither_recurs_nor_is_lost() {
    const LENGTH: usize = 200_000;
    let pool = Pool::new(2).unwrap();
    for panics in [false, true] {
        let count = AtomicUsize::new(0);
        let end = catch_unwind(AssertUnwindSafe(|| {
            Root::new("root").on(&pool).run(|root| {
                let first = root.interval("first");
                let mut last = first.spawn(|_| {
                    if panics {
                        panic!("at the first")
                    }
                });
                for _ in 0..LENGTH {
                    last = root.interval("next").after(last).spawn(|_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
                let mut inside = root.interval("starts").after(last).spawn(|_| ()).start();
                for _ in 0..LENGTH {
                    let next = root.interval("next").after(inside).spawn(|_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                    inside = next.start();
                }
            })
        }));
        assert_eq!(end.is_err(), panics);
        assert_eq!(count.into_inner(), if panics { 0 } else { 2 * LENGTH });
    }
}

#[test]
fn a_context_may_be_lent_to_other_threads() {
    let pool = Pool::new(2).unwrap();
    let count = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    let result = Root::new("root").on(&pool).run(|root| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let sender = sender.clone();
                let count = &count;
                scope.spawn(move || {
                    let child =
                        root.interval("child").spawn(|_| count.fetch_add(1, Ordering::AcqRel));
                    sender.send(format!("{child:?}").len()).unwrap();
                });
            }
        });
    });
    assert_eq!(result, Ok(()));
    drop(sender);
    assert_eq!(receiver.iter().sum::<usize>(), 4 * "Handle(`child`)".len());
    assert_eq!(count.into_inner(), 4);
}

#[test]
fn roots_nest() {
    for pool in pools() {
        let mut sums = [0; 8];
        let result = Root::new("outer").on(&pool).run(|root| {
            for (n, sum) in sums.iter_mut().enumerate() {
                root.interval("child").spawn(move |_| {
                    let inner = intervals::run("inner", |inner| {
                        inner.interval("leaf").spawn(|_| *sum = n);
                    });
                    assert_eq!(inner, Ok(()));
                });
            }
        });
        assert_eq!(result, Ok(()));
        assert_eq!(sums.into_iter().sum::<usize>(), 28);
    }
}
