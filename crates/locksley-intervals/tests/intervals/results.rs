//! Results, and when they are dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;
use locksley_intervals::{self as intervals, Root};

use crate::common::{message, pools};

/// Counts its drops.
struct Dropped<'c>(&'c AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn results_flow_along_edges() {
    for pool in pools() {
        let mut sum = 0;
        let place = &mut sum;
        let root = Root::new("root").on(&pool);
        let result = root.run(|root| {
            let numbers: Vec<_> =
                (0..20_u64).map(|n| root.interval("number").spawn(move |_| Box::new(n))).collect();
            let add = root.interval("add").after_all(numbers.iter().copied());
            add.spawn(move |cx| *place = numbers.iter().map(|n| **n.get(cx)).sum());
            "the root's"
        });
        assert_eq!(result, Ok("the root's"));
        assert_eq!(sum, 190);
    }
}

#[test]
fn results_and_bodies_are_dropped_once() {
    let pool = Pool::new(2).unwrap();
    let [bodies, results] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let (bodies_ref, results_ref) = (&bodies, &results);
    let end = catch_unwind(AssertUnwindSafe(|| {
        Root::new("root").on(&pool).run(|root| {
            let panics = root.interval("panics").spawn(|_| panic!("no more arrows"));
            for n in 0..30 {
                let body = Dropped(bodies_ref);
                let builder = root.interval("one of 30");
                let builder = if n % 3 == 0 { builder.after(panics) } else { builder };
                builder.spawn(move |_| {
                    let _body = body;
                    Dropped(results_ref)
                });
            }
            let body = Dropped(bodies_ref);
            let refused = root.interval("refused").after(root.end());
            assert!(refused.try_spawn(move |_| drop(body)).is_err());
        })
    }));
    assert_eq!(message(&*end.unwrap_err()), "no more arrows");
    assert_eq!(bodies.into_inner(), 31);
    assert_eq!(results.into_inner(), 20);
}

#[test]
fn destructors_of_results_may_ask_for_names() {
    struct Asks<'g>(intervals::Handle<'g, u8>, intervals::Point<'g>);
    impl Drop for Asks<'_> {
        fn drop(&mut self) {
            assert_eq!(format!("{:?}", self.0), "Handle(`asked`)");
            assert!(self.1.has_occurred());
            assert_eq!(format!("{:?}", self.1), "Point(the end of `root`)");
        }
    }
    intervals::run("root", |root| {
        let asked = root.interval("asked").spawn(|_| 1);
        let end = root.end();
        root.interval("asks").spawn(move |_| Asks(asked, end));
    })
    .unwrap();
}

/// In a checked root, a result is read only where the graph orders that.
#[test]
fn a_checked_root_requires_an_edge_to_the_reader() {
    for is_ordered in [true, false] {
        let pool = Pool::new(1).unwrap();
        let end = catch_unwind(AssertUnwindSafe(|| {
            Root::new("root").on(&pool).checked(true).run(|root| {
                let number = root.interval("number").spawn(|_| 1);
                let between = root.interval("between").after(number).spawn(|_| ());
                let reader = root.interval("reader");
                let reader = if is_ordered { reader.after(between) } else { reader };
                reader.spawn(move |cx| assert_eq!(*number.get(cx), 1));
            })
        }));
        let text = end.err().map(|payload| message(&*payload).to_owned());
        let expected = "nothing orders `reader` after the end of `number`";
        assert_eq!(text.as_deref(), (!is_ordered).then_some(expected));
    }
}

/// Without an edge, the missing result is reported.
#[test]
fn a_result_that_does_not_exist_panics() {
    let end = catch_unwind(|| {
        // One worker for the root, which waits, and one for the intervals.
        Root::new("root").on(&Pool::new(2).unwrap()).run(|root| {
            let cancelled = root.interval("cancelled").spawn(|cx| cx.cancel("no more arrows"));
            let after = root.interval("after").after(cancelled).spawn(|_| 1);
            while !after.end().has_occurred() {
                std::thread::yield_now();
            }
            *after.get(root)
        })
    });
    let text =
        "`after` has no result, because it or what it depends on has panicked or was cancelled";
    assert_eq!(message(&*end.unwrap_err()), text);
}
