//! Recordings of graphs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use locksley::Pool;
use locksley_intervals::{Recording, Root, Side};

#[test]
fn a_recording_has_all_that_was_made() {
    let pool = Pool::new(2).unwrap();
    let mut recording = Recording::default();
    let root = Root::new("the \"root\"").on(&pool).recorded(&mut recording);
    let end = catch_unwind(AssertUnwindSafe(|| {
        root.run(|root| {
            let first = root.interval("first").spawn(|cx| {
                cx.interval("child").spawn(|_| ());
                cx.add_edge(cx.start(), cx.end()).unwrap();
                cx.interval("refused").after(cx.end()).try_spawn(|_| ()).unwrap_err();
            });
            let panics =
                root.interval("panics").after(first.start()).after(first).spawn(|_| panic!());
            root.interval("last").after(first).end_after(panics).spawn(|_| ());
            root.interval("never").after(panics).spawn(|_| ());
        })
    }));
    assert!(end.is_err());
    let all = &recording.intervals;
    let named = |name: &str| all.iter().position(|i| i.name == name).unwrap();
    let names: Vec<_> = all.iter().map(|interval| &interval.name[..]).collect();
    assert_eq!(names, ["the \"root\"", "first", "child", "panics", "last", "never"]);
    let parents: Vec<_> = all.iter().map(|interval| interval.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(0), Some(0), Some(0)]);
    let failed: Vec<_> = all.iter().map(|interval| interval.has_failed).collect();
    assert_eq!(failed, [true, false, false, true, true, true]);
    for (number, interval) in all.iter().enumerate() {
        assert_eq!(interval.begun.is_some(), number != named("never"));
        assert_eq!(interval.worker.is_some(), interval.begun.is_some());
        assert!(interval.begun.is_none_or(|begun| begun <= interval.ended));
        assert!(interval.parent.is_none_or(|parent| interval.ended <= all[parent].ended));
    }
    let mut edges: Vec<_> =
        (recording.edges.iter()).map(|&[(from, out), (to, into)]| (from, out, to, into)).collect();
    edges.sort_by_key(|&(from, out, to, into)| (from, out as u8, to, into as u8));
    let (first, panics) = (named("first"), named("panics"));
    use Side::{End, Start};
    assert_eq!(
        edges,
        [
            (first, Start, first, End),
            (first, Start, panics, Start),
            (first, End, panics, Start),
            (first, End, named("last"), Start),
            (panics, End, named("last"), End),
            (panics, End, named("never"), Start),
        ]
    );
    let dot = recording.to_dot();
    assert_eq!(dot.matches('{').count() - dot.matches("\\{").count(), dot.matches('}').count());
    assert!(dot.contains("i1:end -> i3:start;"), "{dot}");
    assert!(dot.contains("the\\ \\\"root\\\""), "{dot}");
    assert!(dot.contains("did not run"), "{dot}");
}
