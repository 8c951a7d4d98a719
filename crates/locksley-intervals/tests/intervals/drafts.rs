//! Drafts: intervals that are declared and connected in any order, and then started.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{array, mem};

use locksley::Pool;
use locksley_intervals::{
    self as intervals, Guarded, Handle, IntervalLock, Recording, Refusal, Root, Side,
};

use crate::common::{message, pools};
use crate::refusals::until;

const TARGETS: usize = 60;

/// What a target needs: targets of lower numbers.
fn needs(target: usize) -> impl Iterator<Item = usize> {
    [target / 2, target / 3, target * 7 % 11].into_iter().filter(move |&need| need < target)
}

/// Targets are declared before what they need, and connected in several orders.
#[test]
fn declared_intervals_run_after_the_start_and_after_what_they_need() {
    for (n, pool) in pools().enumerate() {
        let has_started = AtomicBool::new(false);
        let done: [_; TARGETS] = array::from_fn(|_| AtomicBool::new(false));
        let end = Root::new("root").on(&pool).run(|root| {
            let mut draft = root.draft();
            let mut handles: Vec<_> = (0..TARGETS)
                .rev()
                .map(|target| {
                    let (has_started, done) = (&has_started, &done);
                    draft.declare(format!("target {target}"), move |_| {
                        assert!(has_started.load(Ordering::Acquire), "it was not started");
                        assert!(needs(target).all(|need| done[need].load(Ordering::Acquire)));
                        assert!(!done[target].swap(true, Ordering::AcqRel), "it runs once");
                    })
                })
                .collect();
            handles.reverse();
            let mut edges: Vec<_> =
                (0..TARGETS).flat_map(|then| needs(then).map(move |first| (first, then))).collect();
            edges.sort_by_key(|(first, then)| (first * 31 + then * 17) % (n + 1));
            for (first, then) in edges {
                draft.connect(handles[first], handles[then]);
            }
            has_started.store(true, Ordering::Release);
            draft.start()
        });
        assert_eq!(end, Ok(Ok(())));
        assert!(done.into_iter().all(AtomicBool::into_inner));
    }
}

#[test]
fn a_cycle_is_named_by_its_whole_path_and_the_draft_stays_usable() {
    let ran = AtomicUsize::new(0);
    let end = intervals::run("build", |root| {
        let mut draft = root.draft();
        // Names from a file are owned.
        let [all, compile, link, test] = ["all", "compile", "link", "test"]
            .map(|name| draft.declare(name.to_owned(), |_| ran.fetch_add(1, Ordering::AcqRel)));
        draft.connect(test, all);
        draft.connect(test, compile);
        draft.connect(link, test);
        draft.connect(compile, link);
        for _ in 0..2 {
            let refused = draft.start().unwrap_err();
            assert_eq!(
                refused.to_string(),
                "an edge from the end of `test` to the start of `compile` would close the cycle \
                 `compile -> link -> test -> compile`"
            );
            let Refusal::Cycle { path, .. } = refused else { panic!("a cycle") };
            assert_eq!(path, ["compile", "link", "test", "compile"]);
        }
        assert!(!draft.disconnect(link, compile), "there is no such edge");
        assert!(draft.disconnect(test, compile));
        assert_eq!(ran.load(Ordering::Acquire), 0, "nothing has run");
        draft.start()
    });
    assert_eq!(end, Ok(Ok(())));
    assert_eq!(ran.into_inner(), 4);
}

#[test]
fn short_cycles_and_those_through_ends_are_named_too() {
    intervals::run("root", |root| {
        let mut draft = root.draft();
        let own = draft.declare("own", |_| ());
        draft.connect(own, own);
        let refused = draft.start().unwrap_err();
        let text = "an edge from the end of `own` to the start of `own` would close the cycle \
                    `own -> own`";
        assert_eq!(refused.to_string(), text);

        // The end of one waits for the start of the other, which waits for the end of the one.
        let mut draft = root.draft();
        let other = draft.declare("other", |_| ());
        let one = root.interval("one").end_after(other.start()).declare_in(&mut draft, |_| ());
        assert!(!one.start().has_occurred() && !one.end().has_occurred());
        draft.connect(one, other);
        let refused = draft.start().unwrap_err();
        let text = "an edge from the end of `one` to the start of `other` would close the cycle \
                    `other -> one -> other`";
        assert_eq!(refused.to_string(), text);
        assert!(draft.disconnect(one, other));
        draft.start().unwrap();

        // The search comes to the cycle at the end of `one`. The edge that is named is still one
        // of the draft, and does not lead from the start of `one` to its end.
        let mut draft = root.draft();
        let first = draft.declare("first", |_| ());
        let one = root.interval("one").end_after(first.start()).declare_in(&mut draft, |_| ());
        let other = draft.declare("other", |_| ());
        draft.connect(one, other);
        draft.connect(other, one);
        let text = "an edge from the end of `other` to the start of `one` would close the cycle \
                    `one -> other -> one`";
        assert_eq!(draft.start().unwrap_err().to_string(), text);
    })
    .unwrap();
}

/// Each interval is declared before the one that it waits for.
#[test]
fn a_long_chain_is_started_without_recursion() {
    const LENGTH: usize = 100_000;
    let sum = Mutex::new(0);
    let end = intervals::run("root", |root| {
        let mut draft = root.draft();
        let declare = |n| {
            let sum = &sum;
            move |_: &intervals::Context<'_, '_>| {
                let mut sum = sum.lock().unwrap();
                assert_eq!(*sum, LENGTH - n, "in the order of the edges");
                *sum += 1;
            }
        };
        let chain: Vec<_> = (1..=LENGTH).map(|n| draft.declare("link", declare(n))).collect();
        chain.windows(2).for_each(|pair| draft.connect(pair[1], pair[0]));
        draft.connect(chain[0], chain[LENGTH - 1]);
        let Err(Refusal::Cycle { path, .. }) = draft.start() else { panic!("a cycle") };
        assert_eq!(path.len(), LENGTH + 1);
        draft.disconnect(chain[0], chain[LENGTH - 1]);
        draft.start()
    });
    assert_eq!(end, Ok(Ok(())));
    assert_eq!(sum.into_inner().unwrap(), LENGTH);
}

/// Results, children, and drafts inside of declared intervals.
#[test]
fn declared_intervals_have_results_and_children() {
    for pool in pools() {
        let mut sum = 0;
        let place = &mut sum;
        let end = Root::new("root").on(&pool).run(|root| {
            let before = root.interval("before").spawn(|_| 1);
            let mut draft = root.draft();
            let numbers: [Handle<'_, usize>; 3] = array::from_fn(|n| {
                draft.declare("number", move |cx| {
                    let mut inner = cx.draft();
                    let [last, first] = ["last", "first"].map(|name| inner.declare(name, |_| ()));
                    inner.connect(first, last);
                    inner.start().unwrap();
                    cx.interval("child").after(last).spawn(|_| ());
                    10 * n + before.get(cx)
                })
            });
            let add = draft.declare("add", move |cx| {
                numbers.map(|number| *number.get(cx)).into_iter().sum::<usize>()
            });
            for number in numbers {
                draft.connect(number, add);
                draft.connect(before, number);
            }
            draft.start().unwrap();
            // After the start, they are intervals as all others.
            let last = root.interval("last").after(add).spawn(move |cx| *place = *add.get(cx));
            // The draft is empty, and may be used again.
            let mut second = draft.declare("second", |_| ()).end();
            for _ in 0..2 {
                let next = draft.declare("next", |_| ());
                draft.connect(second, next);
                draft.connect(last, next);
                second = next.end();
            }
            draft.start()
        });
        assert_eq!((end, sum), (Ok(Ok(())), 33));
    }
}

/// Counts its drops.
struct Dropped<'c>(&'c AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn a_draft_that_is_not_started_drops_its_bodies_and_keeps_nothing_waiting() {
    let dropped = AtomicUsize::new(0);
    let end = intervals::run("root", |root| {
        for is_leaked in [false, true] {
            let mut draft = root.draft();
            for _ in 0..3 {
                let body = Dropped(&dropped);
                // A result with a destructor.
                draft.declare(String::from("never"), move |_| {
                    drop(body);
                    String::new()
                });
            }
            if is_leaked {
                mem::forget(draft);
            } else {
                drop(draft);
                assert_eq!(dropped.load(Ordering::Acquire), 3);
            }
        }
    });
    assert_eq!(end, Ok(()));
}

#[test]
fn code_outside_adds_no_edges_before_the_start() {
    let end = intervals::run("root", |root| {
        let mut draft = root.draft();
        let declared = draft.declare("declared", |_| ());
        let text = "`declared` is declared in a draft that has not started";
        for point in [declared.start(), declared.end()] {
            let refused = root.interval("x").after(point).try_spawn(|_| ()).unwrap_err();
            assert_eq!(refused.to_string(), text);
            assert_eq!(refused, Refusal::NotStarted { interval: "declared".into() });
            let refused = root.interval("x").end_after(point).try_spawn(|_| ()).unwrap_err();
            assert_eq!(refused.to_string(), text);
            assert_eq!(root.add_edge(point, root.end()).unwrap_err().to_string(), text);
            assert_eq!(root.add_edge(root.start(), point).unwrap_err().to_string(), text);
        }
        // Nor does another draft.
        let mut other = root.draft();
        let then = other.declare("then", |_| ());
        other.connect(declared, then);
        assert_eq!(other.start().unwrap_err().to_string(), text);
        draft.start().unwrap();
        other.start().unwrap();
        root.interval("after").after(declared).spawn(|_| ());
        root.add_edge(declared, root.end()).unwrap();
    });
    assert_eq!(end, Ok(()));
}

#[test]
fn edges_come_from_inside_of_the_parent() {
    let told = Arc::new(AtomicBool::new(false));
    let pool = Pool::new(3).unwrap();
    let end = Root::new("root").on(&pool).run(|root| {
        let [here, there] = [Arc::clone(&told), Arc::clone(&told)];
        let outside = root.interval("outside").spawn(move |_| until(&there));
        let before = root.interval("before").spawn(|_| ());
        let parent = root.interval("parent").after(before);
        parent.spawn(move |cx| {
            let child = cx.interval("child").spawn(|_| ());
            let mut draft = cx.draft();
            let inside = draft.declare("inside", |_| ());
            draft.connect(child, inside);
            draft.connect(cx.start(), inside);
            draft.connect(before, inside);
            draft.connect(outside, inside);
            assert_eq!(
                draft.start().unwrap_err().to_string(),
                "an edge from the end of `outside` to the start of `inside` would lead from \
                 outside of `parent` into its draft"
            );
            assert!(draft.disconnect(outside, inside));
            draft.connect(cx.end(), inside);
            assert_eq!(
                draft.start().unwrap_err().to_string(),
                "an edge from the end of `parent` to the start of `inside` would close the cycle \
                 `inside -> parent -> inside`"
            );
            assert!(draft.disconnect(cx.end(), inside));
            // By an interval that waits for the one outside.
            let gate = cx.interval("gate").after(outside).spawn(|_| ());
            draft.connect(gate, inside);
            draft.start().unwrap();
            here.store(true, Ordering::Release);
        });
    });
    assert_eq!(end, Ok(()));
}

#[test]
fn failures_follow_the_edges_of_a_draft() {
    let ran = AtomicUsize::new(0);
    let end = intervals::run("root", |root| {
        let mut draft = root.draft();
        let [last, next, first, free] = ["last", "next", "first", "free"].map(|name| {
            let ran = &ran;
            draft.declare(name, move |cx| {
                ran.fetch_add(1, Ordering::AcqRel);
                if name == "first" {
                    cx.cancel("no more arrows");
                }
            })
        });
        draft.connect(next, last);
        draft.connect(first, next);
        draft.connect(free.start(), first);
        draft.start().unwrap();
    });
    assert_eq!(end.unwrap_err().to_string(), "`first` was cancelled: no more arrows");
    assert_eq!(ran.load(Ordering::Acquire), 2);
    // Also those of an interval that has failed before the start.
    let end = Root::new("root").on(&Pool::new(2).unwrap()).run(|root| {
        let fails = root.interval("fails").spawn(|cx| cx.cancel("no more arrows"));
        let mut draft = root.draft();
        let never = draft.declare("never", |_| unreachable!());
        draft.connect(fails, never);
        while !fails.end().has_occurred() {
            std::thread::yield_now();
        }
        draft.start().unwrap();
    });
    assert!(end.is_err());
}

#[test]
fn declared_intervals_hold_locks() {
    let lock = IntervalLock::new(0);
    let end = intervals::run("root", |root| {
        let mut draft = root.draft();
        for n in 0..10 {
            let mut user = root.interval("user");
            let mut key = user.lock(&lock);
            user.declare_in(&mut draft, move |cx| *key.get_mut(cx) += n);
        }
        draft.start().unwrap();
        let mut draft = root.draft();
        let mut twice = root.interval("twice");
        let _keys = (twice.lock(&lock), twice.lock(&lock));
        twice.declare_in(&mut draft, |_| unreachable!());
        let text = "`twice` names the same lock twice";
        assert_eq!(draft.start().unwrap_err().to_string(), text);
        let mut draft = root.draft();
        let other = draft.declare("other", |_| unreachable!());
        let mut holder = root.interval("holder").end_after(other);
        let _key = holder.lock(&lock);
        holder.declare_in(&mut draft, |_| unreachable!());
        assert!(matches!(draft.start(), Err(Refusal::IntoHolder { .. })));
    });
    assert_eq!(end, Ok(()));
    assert_eq!(lock.into_inner(), 45);
}

#[test]
fn a_checked_root_knows_the_edges_of_drafts() {
    for is_ordered in [true, false] {
        let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
        let data = Guarded::new(0);
        let end = catch_unwind(AssertUnwindSafe(|| {
            Root::new("root").on(&pool).checked(true).run(|root| {
                *data.write(root) += 1;
                let mut draft = root.draft();
                let second = draft.declare("second", |cx| *data.write(cx) += 1);
                let first = draft.declare("first", |cx| *data.write(cx) += 1);
                if is_ordered {
                    draft.connect(first, second);
                }
                draft.start().unwrap();
            })
        }));
        let text = end.err().map(|payload| message(&*payload).to_owned());
        assert_eq!(text.is_some(), !is_ordered, "{text:?}");
    }
}

#[test]
fn a_recording_has_the_edges_of_drafts() {
    let mut recording = Recording::default();
    let root = Root::new("root").recorded(&mut recording);
    let end = root.run(|root| {
        let mut never = root.draft();
        never.declare("never", |_| ());
        let mut draft = root.draft();
        let second = draft.declare("second", |_| ());
        let first = draft.declare("first", |_| ());
        draft.connect(first, second);
        draft.start()
    });
    assert_eq!(end, Ok(Ok(())));
    let names: Vec<_> = recording.intervals.iter().map(|it| (&*it.name, it.parent)).collect();
    assert_eq!(names, [("root", None), ("second", Some(0)), ("first", Some(0))]);
    assert_eq!(recording.edges, [[(2, Side::End), (1, Side::Start)]]);
}
