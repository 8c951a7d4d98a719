//! Where a worker puts tasks, and which one comes next.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::fairness::LOOK_ELSEWHERE_AFTER;
use crate::idle::Activity;
use crate::pool::tests::beside_a_held_worker;
use crate::scheduler::job::HeapJob;
use crate::scheduler::latch::Latch;
use crate::{Pool, Worker};

/// Makes a task ready that ran last on the worker `last`. Returns true if it stays here.
fn is_kept(worker: &Worker, last: usize) -> bool {
    let before = worker.deque.bottom();
    // SAFETY: pushed once, here; the task borrows nothing, and does not unwind.
    worker.push_at_home(last, unsafe { HeapJob::into_job(None, |_| ()) });
    worker.deque.bottom() > before
}

#[test]
fn a_ready_task_goes_to_its_last_worker_unless_both_have_no_other_task() {
    let kept = beside_a_held_worker(|worker| {
        let last_one_does = |activity| worker.shared().slot(1).set_activity(activity);
        last_one_does(Activity::Searches);
        let first = is_kept(worker, 1);
        let above_another = is_kept(worker, 1);
        while worker.run_one() {}
        let [beside_work, beside_sleep] = [Activity::Works, Activity::Sleeps].map(|activity| {
            last_one_does(activity);
            is_kept(worker, 1)
        });
        [first, above_another, beside_work, beside_sleep, is_kept(worker, 0)]
    });
    assert_eq!(kept, [true, false, false, false, true]);
}

#[test]
fn a_ready_task_stays_where_polls_are_brief() {
    let kept = beside_a_held_worker(|worker| {
        worker.shared().slot(1).set_activity(Activity::Works);
        // Between two looks lie no polls; the system may suspend this thread there.
        while !worker.has_brief_polls.get() {
            worker.look_elsewhere(0);
        }
        let beside_brief_polls = is_kept(worker, 1);
        while worker.run_one() {}
        thread::sleep(Duration::from_millis(1));
        worker.look_elsewhere(0);
        [beside_brief_polls, is_kept(worker, 1)]
    });
    assert_eq!(kept, [true, false]);
}

#[test]
fn a_worker_knows_its_pool() {
    let known = beside_a_held_worker(|worker| {
        let other = Pool::new(1).unwrap();
        let belongs_to = [worker.shared(), other.shared()].map(|pool| worker.belongs_to(pool));
        (worker.index(), worker.workers(), belongs_to)
    });
    assert_eq!(known, (0, 2, [true, false]));
}

/// A thief need not give its processor to the worker then, and a ready task does not stay there.
#[test]
fn a_worker_in_a_blocking_call_counts_as_asleep_and_does_not_search_next() {
    let states = beside_a_held_worker(|worker| {
        let now = || (worker.slot().activity(), worker.is_about_to_search());
        [now(), crate::blocking(now), now()]
    });
    let works = (Activity::Works, true);
    assert_eq!(states, [works, (Activity::Sleeps, false), works]);
}

/// Puts a task into each queue of the worker, and returns the one that comes first after a look
/// elsewhere.
fn first_after_a_look_elsewhere(worker: &Worker, turn: u32) -> &'static str {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let job = |name| {
        let ran = Arc::clone(&ran);
        // SAFETY: pushed or sent once, below; the task borrows nothing, and does not unwind.
        unsafe { HeapJob::into_job(None, move |_| ran.lock().unwrap().push(name)) }
    };
    worker.push(job("oldest"));
    worker.push(job("newest"));
    worker.slot().inbox.send(job("inbox"));
    worker.shared().injector.send(job("injector"));
    worker.look_elsewhere(turn);
    while worker.run_one() {}
    let ran = ran.lock().unwrap();
    assert_eq!(ran.len(), 4, "{ran:?}");
    ran[0]
}

#[test]
fn each_queue_has_its_turn_after_some_polls() {
    let first = beside_a_held_worker(|worker| {
        let polls = (0..2 * LOOK_ELSEWHERE_AFTER).filter(|_| worker.count_poll()).count();
        (polls, [0, 1, 2, 3, 4].map(|turn| first_after_a_look_elsewhere(worker, turn)))
    });
    assert_eq!(first, (2, ["inbox", "injector", "oldest", "inbox", "inbox"]));
}

#[test]
fn a_pinned_task_has_its_turn() {
    let is_next = beside_a_held_worker(|worker| {
        // SAFETY: pushed or sent once, below; the task borrows nothing, and does not unwind.
        let job = || unsafe { HeapJob::into_job(None, |_| ()) };
        let is_next = |turn| {
            worker.look_elsewhere(turn);
            worker.runs_pinned_next.take()
        };
        let without = is_next(3);
        worker.shared().send_to(None, 0, job());
        let with = is_next(3);
        let [beside_one, beside_two] = [(); 2].map(|()| {
            worker.push(job());
            is_next(2)
        });
        while worker.run_one() {}
        [without, with, beside_one, beside_two]
    });
    // The only task comes next in any case, so the turn is that of the pinned one.
    assert_eq!(is_next, [false, true, true, false]);
}

#[test]
fn a_wait_for_a_group_leaves_older_tasks_in_the_deque() {
    let (before, after) = beside_a_held_worker(|worker| {
        for _ in 0..2 {
            // SAFETY: pushed once, here; the task borrows nothing, and does not unwind.
            worker.push(unsafe { HeapJob::into_job(None, |_| ()) });
        }
        let before = worker.deque.bottom();
        let (latch, has_looked) = (Latch::new(Some(worker)), AtomicBool::new(false));
        let (event, looked) = (&latch, &has_looked);
        thread::scope(|threads| {
            threads.spawn(move || {
                while !looked.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                // SAFETY: alive until this thread has ended.
                unsafe { Latch::set(NonNull::from(event)) };
            });
            let start = || {
                has_looked.store(true, Ordering::Relaxed);
                before
            };
            worker.wait_for_group(&latch.flag, NonNull::dangling(), start, || false);
        });
        (before, worker.deque.bottom())
    });
    assert_eq!(after, before);
}

/// No other worker could run the task.
#[test]
fn a_worker_that_waits_is_replaced() {
    let result = beside_a_held_worker(|_| crate::block_on(crate::task::spawn(async { 7 })));
    assert_eq!(result.unwrap(), 7);
}

#[test]
fn thieves_see_how_many_tasks_a_worker_has() {
    let seen = beside_a_held_worker(|worker| {
        let deque = &worker.slot().deque;
        let now = || (deque.is_empty(), deque.has_several_items());
        let push = || {
            // SAFETY: pushed once, here; the task borrows nothing, and does not unwind.
            worker.push(unsafe { HeapJob::into_job(None, |_| ()) });
            now()
        };
        let seen = [now(), push(), push(), push()];
        while worker.run_one() {}
        (seen, now())
    });
    let several = (false, true);
    assert_eq!(seen, ([(true, false), (false, false), several, several], (true, false)));
}

#[test]
fn another_worker_may_leapfrog_from_a_thief_that_has_no_other_task() {
    let may = beside_a_held_worker(|worker| {
        // SAFETY: pushed once, below; the task borrows nothing, and does not unwind.
        let job = unsafe { HeapJob::into_job(None, |_| ()) };
        let begin = || {
            worker.slot().set_running(std::ptr::null_mut());
            worker.begin_stolen(job);
            worker.slot().is_running(job)
        };
        let alone = begin();
        worker.push(job);
        [alone, begin()]
    });
    assert_eq!(may, [true, false]);
}

#[test]
fn a_worker_that_waits_for_tasks_runs_its_pinned_ones() {
    beside_a_held_worker(|worker| {
        let latch = Latch::new(Some(worker));
        let event = &latch;
        let set = move |_: &Worker| {
            // SAFETY: alive, since the wait below ends with this.
            unsafe { Latch::set(NonNull::from(event)) };
        };
        // SAFETY: sent once, here, and run before the wait ends; the task does not unwind.
        worker.shared().send_to(None, 0, unsafe { HeapJob::into_job(None, set) });
        let start = || worker.deque.bottom();
        worker.wait_for_group(&latch.flag, NonNull::dangling(), start, || false);
    });
}
