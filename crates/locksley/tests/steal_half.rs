//! How many tasks a thief takes: one, or half of what it finds.
#![cfg(feature = "alternatives")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use locksley::alternatives::StealHalf;
use locksley::hunt::{Abp, Balanced, Governor};
use locksley::{Pool, Worker};

fn pool_of_two(governor: impl Governor) -> Pool {
    Pool::builder().workers(2).governor(governor).build().unwrap()
}

fn wait_until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Keeps the other one of two workers from stealing until `work` has pushed what it pushes and says so.
fn while_the_other_is_busy(w: &Worker, work: impl FnOnce(&Worker, &dyn Fn())) {
    let (busy, free) = (AtomicBool::new(false), AtomicBool::new(false));
    w.scope(|w, scope| {
        scope.spawn_on(w, |_, _| {
            busy.store(true, Ordering::Release);
            wait_until(&free);
        });
        wait_until(&busy);
        work(w, &|| free.store(true, Ordering::Release));
        free.store(true, Ordering::Release);
    });
}

/// In which order the other worker runs eight tasks that it finds in a deque whose owner does not touch them.
fn order_of_eight(governor: impl Governor) -> Vec<usize> {
    const TASKS: usize = 8;
    let order = Mutex::new(Vec::new());
    let all = AtomicBool::new(false);
    pool_of_two(governor).run(|w| {
        while_the_other_is_busy(w, |w, set_free| {
            w.scope(|w, scope| {
                for task in 0..TASKS {
                    let (order, all) = (&order, &all);
                    scope.spawn_on(w, move |_, _| {
                        let mut order = order.lock().unwrap();
                        order.push(task);
                        all.store(order.len() == TASKS, Ordering::Release);
                    });
                }
                set_free();
                wait_until(&all);
            });
        });
    });
    order.into_inner().unwrap()
}

/// One of its own comes before one that would have to be stolen, and the newest comes first.
#[test]
fn a_thief_takes_half_rounded_up() {
    // Of eight: 0, and 1 to 3. Of the other four: 4, and 5. Of two, and of one: one.
    assert_eq!(order_of_eight(StealHalf(Balanced::default())), [0, 3, 2, 1, 4, 5, 6, 7]);
}

#[test]
fn a_thief_of_another_governor_takes_one() {
    assert_eq!(order_of_eight(Balanced::default()), Vec::from_iter(0..8));
}

/// A join waits, asleep, for a task that a thief has put into its own deque and runs from there.
#[test]
fn whoever_waits_for_a_task_is_woken_though_it_was_moved() {
    let governors: [Box<dyn Fn() -> Pool>; 2] = [
        Box::new(|| pool_of_two(StealHalf(Balanced::default()))),
        Box::new(|| pool_of_two(StealHalf(Abp { sleep_after: Some(0), ..Abp::default() }))),
    ];
    for pool in governors {
        let flags = [const { AtomicBool::new(false) }; 2];
        let [first, second] = &flags;
        pool().run(|w| {
            while_the_other_is_busy(w, |w, set_free| {
                let oldest = |_: &Worker| first.store(true, Ordering::Release);
                let moved = |_: &Worker| {
                    second.store(true, Ordering::Release);
                    thread::sleep(Duration::from_millis(30));
                };
                let innermost = |w: &Worker| {
                    w.join(
                        |_| {
                            // Three tasks are there: the thief runs the oldest and moves the second.
                            set_free();
                            wait_until(first);
                        },
                        |_| wait_until(second),
                    )
                };
                w.join(|w| w.join(innermost, moved), oldest);
            });
        });
        assert!(flags.iter().all(|flag| flag.load(Ordering::Acquire)));
    }
}
