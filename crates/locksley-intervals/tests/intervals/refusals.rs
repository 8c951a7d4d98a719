//! Refusals, and the names in them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};

use locksley::Pool;
use locksley_intervals::{self as intervals, IntervalLock, Refusal, Root};

#[test]
fn locks_inside_of_locks_are_refused() {
    let [one, other] = [IntervalLock::new(()), IntervalLock::new(())];
    intervals::run("root", |root| {
        let mut twice = root.interval("twice");
        let _keys = (twice.lock(&one), twice.lock(&one));
        let refused = twice.try_spawn(|_| ()).unwrap_err();
        assert_eq!(refused, Refusal::SameLock { interval: "twice".into() });
        assert_eq!(refused.to_string(), "`twice` names the same lock twice");

        let mut holder = root.interval("holder");
        let _key = holder.lock(&one);
        holder.spawn(|cx| {
            cx.interval("child").spawn(|cx| {
                let mut inside = cx.interval("inside");
                let _key = inside.lock(&other);
                let refused = inside.try_spawn(|_| ()).unwrap_err();
                let text = "`inside` names locks inside of `holder`, which holds locks";
                assert_eq!(refused.to_string(), text);
            });
        });
    })
    .unwrap();
}

/// Waits for a flag.
pub(crate) fn until(told: &AtomicBool) {
    while !told.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn edges_into_a_holder_are_refused_unless_they_add_nothing() {
    let pool = Pool::new(3).unwrap();
    let lock = IntervalLock::new(());
    let told = AtomicBool::new(false);
    let both = Barrier::new(2);
    let result = Root::new("root").on(&pool).run(|root| {
        let before = root.interval("before").spawn(|_| ());
        let other = root.interval("other").spawn(|_| until(&told));
        let mut holder = root.interval("holder").after(before);
        let _key = holder.lock(&lock);
        let both = &both;
        holder.spawn(move |cx| {
            let inside = cx.interval("inside").spawn(|_| ());
            cx.interval("inside too").after(before).after(inside).spawn(|_| ());
            let refused = cx.interval("child").after(other).try_spawn(|_| ()).unwrap_err();
            let text = "an edge from the end of `other` to the start of `child` would make \
                        `holder` wait while it holds locks";
            assert_eq!(refused.to_string(), text);
            let refused = cx.add_edge(other, cx.end()).unwrap_err();
            assert!(matches!(refused, Refusal::IntoHolder { holder, .. } if holder == "holder"));
            assert_eq!(cx.add_edge(before, cx.end()), Ok(()));
            both.wait();
        });
        let mut ends_later = root.interval("ends later").end_after(other);
        let _key = ends_later.lock(&lock);
        let refused = ends_later.try_spawn(|_| ()).unwrap_err();
        assert!(matches!(refused, Refusal::IntoHolder { .. }));
        both.wait();
        told.store(true, Ordering::Release);
    });
    assert_eq!(result, Ok(()));
}

#[test]
fn cycles_are_refused_with_their_points() {
    intervals::run("root", |root| {
        let own = root.add_edge(root.end(), root.end()).unwrap_err();
        let text = "an edge from the end of `root` to the end of `root` would close the cycle \
                    `root -> root`";
        assert_eq!(own.to_string(), text);
        let Refusal::Cycle { from, to, path } = own else { panic!("a cycle") };
        assert_eq!([from, to], ["the end of `root`"; 2]);
        assert_eq!(path, ["root"; 2]);
        let of_root = root.interval("child").after(root.end()).try_spawn(|_| ());
        assert!(matches!(of_root, Err(Refusal::Cycle { .. })));
        let of_root = root.interval("child").end_after(root.end()).try_spawn(|_| ());
        assert!(matches!(of_root, Err(Refusal::Cycle { .. })));
        root.interval("parent").spawn(|cx| {
            let outside = cx.interval("child").after(cx.end()).try_spawn(|_| ()).unwrap_err();
            assert!(matches!(outside, Refusal::Cycle { .. }));
            let child = cx.interval("child").spawn(|_| ());
            cx.interval("next").after(child.start()).after(child).spawn(|_| ());
            assert_eq!(cx.add_edge(child, cx.end()), Ok(()));
        });
    })
    .unwrap();
}

#[test]
fn a_cycle_through_a_later_interval_is_refused() {
    let pool = Pool::new(1).unwrap();
    let result = Root::new("root").on(&pool).run(|root| {
        let later = Arc::new(OnceLock::new());
        let known = Arc::clone(&later);
        let first = root.interval("first").spawn(move |cx| {
            let later: &intervals::Handle<'_, ()> = known.get().unwrap();
            // It waits for the end of this interval.
            let text = "an edge from the start of `later` to the start of `child` would close the \
                        cycle `child -> first -> later -> child`";
            let refused = cx.interval("child").after(later.start()).try_spawn(|_| ()).unwrap_err();
            assert_eq!(refused.to_string(), text);
            let refused = cx.add_edge(*later, cx.end()).unwrap_err();
            assert!(matches!(refused, Refusal::Cycle { .. }));
            // This interval may add edges to it.
            let child = cx.interval("child").spawn(|_| ());
            assert_eq!(cx.add_edge(child, later.start()), Ok(()));
            let refused = cx.add_edge(later.end(), later.start()).unwrap_err();
            let Refusal::Cycle { path, .. } = refused else { panic!("a cycle") };
            assert_eq!(path, ["later", "later"]);
        });
        later.set(root.interval("later").after(first).spawn(|_| ())).unwrap();
    });
    assert_eq!(result, Ok(()));
}

#[test]
fn edges_to_what_may_have_occurred_are_refused() {
    intervals::run("root", |root| {
        let child = root.interval("child").spawn(|_| ());
        let refused = root.add_edge(root.start(), child.start()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`root` does not come before the start of `child`, which may have occurred"
        );
        let refused = root.add_edge(child, root.start()).unwrap_err();
        assert!(matches!(refused, Refusal::MayHaveOccurred { by, .. } if by == "root"));
        let other = root.interval("other").spawn(move |cx| {
            let refused = cx.add_edge(cx.start(), child.end()).unwrap_err();
            assert!(matches!(refused, Refusal::MayHaveOccurred { .. }));
        });
        root.interval("last").after(other).spawn(|_| ());
    })
    .unwrap();
}

/// Two intervals create a child after the other's end. Both edges together would close a cycle.
#[test]
fn two_edges_that_are_added_at_once_close_no_cycle() {
    let pool = Pool::new(2).unwrap();
    let mut accepted = 0;
    for _ in 0..500 {
        let both = Barrier::new(2);
        let tally = AtomicUsize::new(0);
        let result = Root::new("root").on(&pool).run(|root| {
            let ends = Arc::new(Mutex::new(Vec::new()));
            for _ in 0..2 {
                let ends = Arc::clone(&ends);
                let (both, tally) = (&both, &tally);
                root.interval("one of two").spawn(move |cx| {
                    ends.lock().unwrap().push(cx.end());
                    both.wait();
                    let others = ends.lock().unwrap().clone();
                    let other = others.into_iter().find(|&end| end != cx.end()).unwrap();
                    match cx.interval("child").after(other).try_spawn(|_| ()) {
                        Ok(_) => {
                            tally.fetch_add(1, Ordering::AcqRel);
                        }
                        Err(refused) => assert!(matches!(refused, Refusal::Cycle { .. })),
                    }
                    both.wait();
                });
            }
        });
        // It must end.
        assert_eq!(result, Ok(()));
        assert!(tally.load(Ordering::Acquire) < 2);
        accepted += tally.into_inner();
    }
    println!("{accepted} of 500 were accepted");
}
