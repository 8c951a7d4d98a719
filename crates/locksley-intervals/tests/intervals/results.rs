//! Results, and what is dropped when.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;
use locksley_intervals::{self as intervals, Root};

use crate::common::{message, pools};

/// Counts how often it is dropped.
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
            let mut add = root.interval("add");
            let numbers: Vec<_> = numbers.into_iter().map(|n| add.after_with(n)).collect();
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
            assert_eq!(self.0.name(), "asked");
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
