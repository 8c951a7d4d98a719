//! Guarded data, and the checks of checked roots.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use locksley::Pool;
use locksley_intervals::{Context, Guarded, IntervalLock, Root};

use crate::common::{message, pools};

#[test]
fn guarded_data_is_never_shared_and_changed() {
    let pool = Pool::new(2).unwrap();
    for is_read_first in [true, false] {
        let guarded = Guarded::new(0);
        let both = Barrier::new(2);
        let end = catch_unwind(AssertUnwindSafe(|| {
            Root::new("root").on(&pool).run(|root| {
                root.interval("first").spawn(|cx| {
                    let reading = is_read_first.then(|| guarded.read(cx));
                    let writing = (!is_read_first).then(|| guarded.write(cx));
                    both.wait();
                    both.wait();
                    drop((reading, writing));
                });
                root.interval("second").spawn(|cx| {
                    both.wait();
                    let refused = catch_unwind(AssertUnwindSafe(|| {
                        if is_read_first { drop(guarded.write(cx)) } else { drop(guarded.read(cx)) }
                    }));
                    both.wait();
                    std::panic::resume_unwind(refused.unwrap_err());
                });
            })
        }));
        let text = match is_read_first {
            true => "`second` changes guarded data that is being used",
            false => "`second` reads guarded data that is being changed",
        };
        assert_eq!(message(&*end.unwrap_err()), text);
        assert_eq!(guarded.into_inner(), 0);
    }
}

type Accesses = for<'g, 'env> fn(&Context<'g, 'env>, &'env Guarded<u8>, &'env IntervalLock<()>);

/// Returns the panic messages of a checked root on each pool. All pools panic, or none does.
fn checked(body: Accesses) -> Option<Vec<String>> {
    let mut messages = Vec::new();
    for pool in pools() {
        let (guarded, lock) = (Guarded::new(0), IntervalLock::new(()));
        let root = Root::new("root").on(&pool).checked(true);
        let end = catch_unwind(AssertUnwindSafe(|| root.run(|root| body(root, &guarded, &lock))));
        messages.push(end.err().map(|payload| message(&*payload).to_owned()));
    }
    let is_said = messages[0].is_some();
    assert!(messages.iter().all(|message| message.is_some() == is_said), "{messages:?}");
    messages.into_iter().collect()
}

/// Asserts that the messages name these two intervals: both, or one while the access of the other
/// lasts.
fn are_told(texts: Option<Vec<String>>, [one, other]: [&str; 2]) {
    let mut right = Vec::new();
    for (one, other) in [(one, other), (other, one)] {
        right.push(format!(
            "`{one}` and `{other}` use the same guarded data, and nothing orders them"
        ));
        right.push(format!("`{one}` changes guarded data that is being used"));
        right.push(format!("`{one}` reads guarded data that is being changed"));
    }
    for text in texts.expect("nothing orders them") {
        assert!(right.contains(&text), "{text}");
    }
}

#[test]
fn what_edges_order_is_accepted() {
    let by_an_edge: Accesses = |root, data, _| {
        let first = root.interval("first").spawn(|cx| *data.write(cx) += 1);
        root.interval("second").after(first).spawn(|cx| *data.write(cx) += 1);
    };
    let by_a_way: Accesses = |root, data, _| {
        let first = root.interval("first").spawn(|cx| *data.write(cx) += 1);
        let between = root.interval("between").after(first).spawn(|_| ());
        let parent = root.interval("parent").after(between.start()).spawn(|cx| {
            cx.interval("second").spawn(|cx| *data.write(cx) += 1);
        });
        root.interval("third").after(parent).spawn(|cx| *data.write(cx) += 1);
    };
    let by_making: Accesses = |root, data, _| {
        *data.write(root) += 1;
        let child = root.interval("child").spawn(|cx| *data.write(cx) += 1);
        root.interval("other").after(child).spawn(|cx| *data.write(cx) += 1);
    };
    let late: Accesses = |root, data, _| {
        let first = root.interval("first").spawn(|cx| *data.write(cx) += 1);
        let between = root.interval("between").spawn(move |cx| {
            cx.add_edge(first, cx.end()).unwrap();
        });
        root.interval("second").after(between).spawn(|cx| *data.write(cx) += 1);
    };
    let by_a_lock: Accesses = |root, data, lock| {
        for _ in 0..3 {
            let mut holder = root.interval("holder");
            let _key = holder.lock(lock);
            holder.spawn(|cx| {
                *data.write(cx) += 1;
                cx.interval("child").spawn(|cx| *data.write(cx) += 1);
            });
        }
    };
    let readers: Accesses = |root, data, _| {
        for _ in 0..3 {
            root.interval("reader").spawn(|cx| assert_eq!(*data.read(cx), 0));
        }
    };
    for accesses in [by_an_edge, by_a_way, by_making, late, by_a_lock, readers] {
        assert_eq!(checked(accesses), None);
    }
}

#[test]
fn what_nothing_orders_is_told_with_both_names() {
    let unordered: Accesses = |root, data, _| {
        root.interval("first").spawn(|cx| *data.write(cx) += 1);
        root.interval("second").spawn(|cx| *data.write(cx) += 1);
    };
    let by_starts: Accesses = |root, data, _| {
        let first = root.interval("first").spawn(|cx| *data.write(cx) += 1);
        root.interval("second").after(first.start()).spawn(|cx| *data.write(cx) += 1);
    };
    let read_and_write: Accesses = |root, data, _| {
        let before = root.interval("before").spawn(|cx| *data.write(cx) += 1);
        root.interval("first").after(before).spawn(|cx| assert!(*data.read(cx) > 0));
        root.interval("second").after(before).spawn(|cx| *data.write(cx) += 1);
    };
    let in_one_holder: Accesses = |root, data, lock| {
        let mut holder = root.interval("holder");
        let _key = holder.lock(lock);
        holder.spawn(|cx| {
            cx.interval("first").spawn(|cx| *data.write(cx) += 1);
            cx.interval("second").spawn(|cx| *data.write(cx) += 1);
        });
    };
    for accesses in [unordered, by_starts, read_and_write, in_one_holder] {
        are_told(checked(accesses), ["first", "second"]);
    }
    // If one runs after the other, the message names both.
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    let (guarded, lock) = (Guarded::new(0), IntervalLock::new(()));
    let end = catch_unwind(AssertUnwindSafe(|| {
        Root::new("root").on(&pool).checked(true).run(|root| unordered(root, &guarded, &lock))
    }));
    let text = "`second` and `first` use the same guarded data, and nothing orders them";
    assert_eq!(message(&*end.unwrap_err()), text);
}

#[test]
fn what_a_parent_does_after_making_a_child_is_not_ordered() {
    let late: Accesses = |root, data, _| {
        root.interval("child").spawn(|cx| *data.write(cx) += 1);
        *data.write(root) += 1;
    };
    are_told(checked(late), ["root", "child"]);
}

#[test]
fn what_a_guard_lasts_for_is_not_ordered() {
    let changes: Accesses = |root, data, _| {
        let mut own = data.write(root);
        root.interval("child").spawn(|cx| *data.write(cx) += 1);
        *own += 1;
    };
    are_told(checked(changes), ["root", "child"]);
    let reads: Accesses = |root, data, _| {
        let own = data.read(root);
        root.interval("child").spawn(|cx| *data.write(cx) += 1);
        assert_eq!(*own, 0);
    };
    are_told(checked(reads), ["root", "child"]);
    let ends_before: Accesses = |root, data, _| {
        {
            let mut own = data.write(root);
            root.interval("other").spawn(|_| ());
            *own += 1;
        }
        root.interval("child").spawn(|cx| *data.write(cx) += 1);
    };
    assert_eq!(checked(ends_before), None);
}

#[test]
fn what_was_refused_orders_nothing() {
    let refused: Accesses = |root, data, _| {
        let first = root.interval("first").spawn(|cx| *data.write(cx) += 1);
        let parent = root.interval("parent").spawn(move |cx| {
            let refused = cx.interval("refused").after(first).after(cx.end());
            assert!(refused.try_spawn(|_| ()).is_err());
        });
        root.interval("second").after(parent).spawn(|cx| *data.write(cx) += 1);
    };
    are_told(checked(refused), ["first", "second"]);
}

#[test]
fn a_lock_orders_only_those_under_it() {
    // The last is ordered after one of the two holders, which run in any order.
    let after_one: Accesses = |root, data, lock| {
        let [_, second] = ["first", "second"].map(|name| {
            let mut holder = root.interval(name);
            let _key = holder.lock(lock);
            holder.spawn(|cx| *data.write(cx) += 1)
        });
        root.interval("last").after(second).spawn(|cx| *data.write(cx) += 1);
    };
    are_told(checked(after_one), ["first", "last"]);
    // The first comes before the second, and only the second shares a lock with the third.
    let before_one: Accesses = |root, data, lock| {
        let first = root.interval("first").spawn(|cx| *data.read(cx));
        let mut second = root.interval("second").after(first);
        let _key = second.lock(lock);
        let second = second.spawn(|cx| *data.write(cx) += 1);
        let mut third = root.interval("third").after(second.start());
        let _key = third.lock(lock);
        third.spawn(|cx| *data.write(cx) += 1);
    };
    // The third comes after the first, by the start of the second.
    assert_eq!(checked(before_one), None);
    let beside: Accesses = |root, data, lock| {
        let first = root.interval("first").spawn(|cx| *data.read(cx));
        let mut second = root.interval("second").after(first);
        let _key = second.lock(lock);
        second.spawn(|cx| *data.write(cx) += 1);
        let mut third = root.interval("third");
        let _key = third.lock(lock);
        third.spawn(|cx| *data.write(cx) += 1);
    };
    are_told(checked(beside), ["first", "third"]);
    // An interval after all holders needs no lock.
    let after_all: Accesses = |root, data, lock| {
        let holders: Vec<_> = (0..3)
            .map(|_| {
                let mut holder = root.interval("holder");
                let _key = holder.lock(lock);
                holder.spawn(|cx| *data.write(cx) += 1)
            })
            .collect();
        root.interval("last").after_all(holders).spawn(|cx| *data.write(cx) += 1);
    };
    assert_eq!(checked(after_all), None);
}
