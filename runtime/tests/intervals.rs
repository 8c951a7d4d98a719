//! Intervals: order, results, locks, refusals, and what becomes of panics and cancellations.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::{Duration, Instant};

use common::{message, pools};
use locksley::Pool;
use locksley::intervals::{self, Context, Guarded, Lock, Recording, Refusal, Root, Side};

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
        // After a start: beside it.
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
        let check = root.interval("check").spawn(|cx| cx.cancel());
        let after = root.interval("after").after(check).spawn(|_| unreachable!());
        root.interval("after that").after(after).spawn(|_| unreachable!());
        root.interval("free").spawn(|_| ran.store(true, Ordering::Release));
    });
    let cancelled = end.unwrap_err();
    assert_eq!(cancelled.interval(), "check");
    assert_eq!(cancelled.to_string(), "`check` was cancelled");
    assert!(ran.into_inner());
}

#[test]
fn locks_exclude_and_are_given_in_order() {
    for pool in pools() {
        let (one, two) = (Lock::new(Vec::new()), Lock::new(0));
        let inside = AtomicUsize::new(0);
        let result = Root::new("root").on(&pool).run(|root| {
            for n in 0..60 {
                let mut user = root.interval("user");
                // In either order: they are taken in a fixed one.
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
                        first.write(cx).push(n);
                        *second.write(cx) += 1;
                        assert_eq!(first.read(cx).len(), *second.read(cx));
                        // Held until the children have ended.
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
fn who_waits_for_a_lock_takes_up_no_worker() {
    let pool = Pool::new(1).unwrap();
    let lock = Lock::new(0);
    let order = Mutex::new(Vec::new());
    let result = Root::new("root").on(&pool).run(|root| {
        let mut holder = root.interval("holder");
        let mut key = holder.lock(&lock);
        let order = &order;
        holder.spawn(move |cx| {
            *key.write(cx) += 1;
            cx.interval("inside").spawn(move |_| order.lock().unwrap().push("inside"));
        });
        let mut waiter = root.interval("waiter");
        let mut key = waiter.lock(&lock);
        waiter.spawn(move |cx| {
            order.lock().unwrap().push("waiter");
            *key.write(cx) += 1;
        });
        root.interval("free").spawn(move |_| order.lock().unwrap().push("free"));
    });
    assert_eq!(result, Ok(()));
    assert_eq!(order.into_inner().unwrap(), ["free", "inside", "waiter"]);
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn locks_are_given_back_by_who_panics_and_not_taken_by_who_does_not_run() {
    let lock = Lock::new(0);
    let end = catch_unwind(AssertUnwindSafe(|| {
        intervals::run("root", |root| {
            let mut panics = root.interval("panics");
            let mut key = panics.lock(&lock);
            let panics = panics.spawn(move |cx| {
                *key.write(cx) += 1;
                panic!("with the lock");
            });
            for after in [false, true] {
                let builder = root.interval("user");
                let mut builder = if after { builder.after(panics) } else { builder };
                let mut key = builder.lock(&lock);
                builder.spawn(move |cx| *key.write(cx) += 10);
            }
        })
    }));
    assert_eq!(message(&*end.unwrap_err()), "with the lock");
    assert_eq!(lock.into_inner(), 11);
}

/// Whose start has failed has taken no lock, and gives none back.
#[test]
fn a_failed_start_leaves_its_locks_alone() {
    let lock = Lock::new(());
    for _ in 0..3 {
        let end = intervals::run("root", |root| {
            let cancelled = root.interval("cancelled").spawn(|cx| cx.cancel());
            let mut never = root.interval("never").after(cancelled);
            let _key = never.lock(&lock);
            never.spawn(|_| unreachable!());
        });
        assert!(end.is_err());
    }
    // Whether it waits for what has failed, or comes when that has failed already.
    let pool = Pool::new(2).unwrap();
    let end = Root::new("root").on(&pool).run(|root| {
        let cancelled = root.interval("cancelled").spawn(|cx| cx.cancel());
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
                // Were there more permits than one, the other would come.
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

/// What a body that will not run waits for, in its destructor, is not kept back by that.
#[test]
fn a_destructor_that_waits_keeps_back_only_what_depends_on_it() {
    struct Waits(Receiver<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.recv_timeout(Duration::from_secs(20)).expect("the other runs meanwhile");
        }
    }
    let pool = Pool::new(2).unwrap();
    // Whichever of the two is let go first.
    for is_first in [false, true] {
        let (sender, receiver) = channel();
        let end = Root::new("root").on(&pool).run(|root| {
            let fails = root.interval("fails").spawn(|cx| cx.cancel());
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
        assert_eq!(end.unwrap_err().interval(), "fails");
    }
}

#[test]
fn roots_share_a_lock() {
    let pools = [Pool::new(2).unwrap(), Pool::new(2).unwrap()];
    let lock = Lock::new(0);
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| {
                for _ in 0..20 {
                    let result = Root::new("root").on(pool).run(|root| {
                        for _ in 0..50 {
                            let mut user = root.interval("user");
                            let mut key = user.lock(&lock);
                            user.spawn(move |cx| *key.write(cx) += 1);
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
    let lock = Lock::new(0);
    let end = catch_unwind(AssertUnwindSafe(|| {
        intervals::run("root", |root| {
            let mut holder = root.interval("holder");
            let key = holder.lock(&lock);
            holder.spawn(move |cx| {
                cx.interval("child").spawn(move |cx| *key.read(cx));
            });
        })
    }));
    assert_eq!(message(&*end.unwrap_err()), "`child` has no right to this key's lock");
}

#[test]
fn locks_inside_of_locks_are_refused() {
    let [one, other] = [Lock::new(()), Lock::new(())];
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

/// An interval that goes on until it is told to end.
fn until(told: &AtomicBool) {
    while !told.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn edges_into_a_holder_are_refused_unless_they_add_nothing() {
    let pool = Pool::new(3).unwrap();
    let lock = Lock::new(());
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
            let text = "an edge from the end of `other` to the start of `child` would have `holder` \
                        wait while it holds locks";
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
        let text = "an edge from the end of `root` to the end of `root` would close a cycle";
        assert_eq!(own.to_string(), text);
        let Refusal::Cycle { from, to } = own else { panic!("a cycle") };
        assert_eq!((&from, from.side), (&to, Side::End));
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
            // It waits for our end.
            let text =
                "an edge from the start of `later` to the start of `child` would close a cycle";
            let refused = cx.interval("child").after(later.start()).try_spawn(|_| ()).unwrap_err();
            assert_eq!(refused.to_string(), text);
            let refused = cx.add_edge(*later, cx.end()).unwrap_err();
            assert!(matches!(refused, Refusal::Cycle { .. }));
            // But we may have it wait for more.
            let child = cx.interval("child").spawn(|_| ());
            assert_eq!(cx.add_edge(child, later.start()), Ok(()));
            let refused = cx.add_edge(later.end(), later.start()).unwrap_err();
            assert!(matches!(refused, Refusal::Cycle { .. }));
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

/// Each of two adds an edge after the other's end. Both at once would be a cycle.
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
        // It ends, above all.
        assert_eq!(result, Ok(()));
        assert!(tally.load(Ordering::Acquire) < 2);
        accepted += tally.into_inner();
    }
    println!("{accepted} of 500 were accepted");
}

#[test]
fn guarded_data_is_never_shared_and_changed() {
    let pool = Pool::new(2).unwrap();
    let guarded = Guarded::new(0);
    let both = Barrier::new(2);
    let end = catch_unwind(AssertUnwindSafe(|| {
        Root::new("root").on(&pool).run(|root| {
            root.interval("reader").spawn(|cx| {
                let reading = guarded.read(cx);
                both.wait();
                both.wait();
                drop(reading);
            });
            root.interval("writer").spawn(|cx| {
                both.wait();
                let refused = catch_unwind(AssertUnwindSafe(|| drop(guarded.write(cx))));
                both.wait();
                std::panic::resume_unwind(refused.unwrap_err());
            });
        })
    }));
    let text = "`writer` changes what others use at the same time";
    assert_eq!(message(&*end.unwrap_err()), text);
    assert_eq!(guarded.into_inner(), 0);
}

type Accesses = for<'g, 'env> fn(&Context<'g, 'env>, &'env Guarded<u8>, &'env Lock<()>);

/// What a checked root says of some accesses, on each pool: something, or nothing, whatever the schedule.
fn checked(body: Accesses) -> Option<Vec<String>> {
    let mut messages = Vec::new();
    for pool in pools() {
        let (guarded, lock) = (Guarded::new(0), Lock::new(()));
        let root = Root::new("root").on(&pool).checked();
        let end = catch_unwind(AssertUnwindSafe(|| root.run(|root| body(root, &guarded, &lock))));
        messages.push(end.err().map(|payload| message(&*payload).to_owned()));
    }
    let is_said = messages[0].is_some();
    assert!(messages.iter().all(|message| message.is_some() == is_said), "{messages:?}");
    messages.into_iter().collect()
}

/// That these two are told of, and nobody else: both, or one while the other's access lasts.
fn are_told(texts: Option<Vec<String>>, [one, other]: [&str; 2]) {
    let mut right = Vec::new();
    for (one, other) in [(one, other), (other, one)] {
        right.push(format!(
            "`{one}` and `{other}` use the same guarded data, and nothing orders them"
        ));
        right.push(format!("`{one}` changes what others use at the same time"));
        right.push(format!("`{one}` reads what is being changed"));
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
    // Where one runs after the other, both are named.
    let pool = Pool::new(1).unwrap();
    let (guarded, lock) = (Guarded::new(0), Lock::new(()));
    let end = catch_unwind(AssertUnwindSafe(|| {
        Root::new("root").on(&pool).checked().run(|root| unordered(root, &guarded, &lock))
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
    // The last is after the one that comes second this time; the next time the other may.
    let after_one: Accesses = |root, data, lock| {
        let [_, second] = ["first", "second"].map(|name| {
            let mut holder = root.interval(name);
            let _key = holder.lock(lock);
            holder.spawn(|cx| *data.write(cx) += 1)
        });
        root.interval("last").after(second).spawn(|cx| *data.write(cx) += 1);
    };
    are_told(checked(after_one), ["first", "last"]);
    // The first comes before the second; the third shares a lock with that one alone.
    let before_one: Accesses = |root, data, lock| {
        let first = root.interval("first").spawn(|cx| *data.read(cx));
        let mut second = root.interval("second").after(first);
        let _key = second.lock(lock);
        let second = second.spawn(|cx| *data.write(cx) += 1);
        let mut third = root.interval("third").after(second.start());
        let _key = third.lock(lock);
        third.spawn(|cx| *data.write(cx) += 1);
    };
    // By the start of the second, the third comes after the first.
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
    // One after all of them needs no lock.
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
    let all = recording.intervals();
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
    let mut edges: Vec<_> = (recording.edges().iter())
        .map(|e| (e.from.interval, e.from.side, e.to.interval, e.to.side))
        .collect();
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
    assert!(dot.contains("i1:e -> i3:s;"), "{dot}");
    assert!(dot.contains("the\\ \\\"root\\\""), "{dot}");
    assert!(dot.contains("did not run"), "{dot}");
    let svg = recording.to_svg();
    assert!(svg.contains("the \"root\""), "{svg}");
    assert_eq!(svg.matches("<title>").count(), recording.intervals().len());
    assert!(svg.contains("did not run</title>"), "{svg}");
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
                    sender.send(child.name().len()).unwrap();
                });
            }
        });
    });
    assert_eq!(result, Ok(()));
    drop(sender);
    assert_eq!(receiver.iter().sum::<usize>(), 20);
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
