//! What the model checker runs. A lost wake-up shows as a deadlock, which loom reports.

use std::ptr::NonNull;
use std::time::Duration;

use loom::sync::Arc;
use loom::thread;

use super::{Limit, Rest, Sleep, WakeToken};
use crate::deque::{
    ChaseLevOwner, ChaseLevThief, Owner, Pushed, Reader, Steal, Thief, chase_lev, pinned_queue,
};
use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

mod limit;

/// As many ready tasks as the number says.
struct Tasks(AtomicUsize);

impl Tasks {
    fn new(count: usize) -> Self {
        Self(AtomicUsize::new(count))
    }

    fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    fn take_one(&self) -> bool {
        let mut count = self.0.load(Ordering::Acquire);
        while count > 0 {
            match self.0.compare_exchange(count, count - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }

    fn are_left(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Something that happens once, and for which a worker waits.
struct Event(AtomicBool);

impl Event {
    fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Searches and sleeps until it has a task.
fn work_once(worker: usize, sleep: &Sleep, tasks: &Tasks) {
    let wake_token = WakeToken::default();
    sleep.begin_search();
    while !tasks.take_one() {
        sleep.sleep(worker, |_| tasks.are_left());
    }
    sleep.end_search(&wake_token, || tasks.are_left());
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

#[test]
fn loom_sleep_a_push_wakes_the_last_thief() {
    check(4, || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), Tasks::new(0)));
        let worker = shared.clone();
        let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
        let (sleep, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&WakeToken::default());
        worker.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_push_after_a_wake_token_wakes_again() {
    check(3, || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), Tasks::new(0)));
        let worker = shared.clone();
        let worker = thread::spawn(move || {
            work_once(0, &worker.0, &worker.1);
            work_once(0, &worker.0, &worker.1);
        });
        let (sleep, tasks) = &*shared;
        let wake_token = WakeToken::default();
        for _ in 0..2 {
            tasks.add_one();
            sleep.notify_pushed(&wake_token);
        }
        worker.join().unwrap();
    });
}

#[test]
fn loom_sleep_what_is_sent_wakes_somebody() {
    check(4, || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), Tasks::new(0)));
        let worker = shared.clone();
        let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
        let (sleep, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_sent();
        worker.join().unwrap();
    });
}

/// What is sent to a worker that sleeps, and that others may do too.
#[test]
fn loom_sleep_what_is_addressed_wakes_the_worker() {
    for by_a_worker in [false, true] {
        check(4, move || {
            let shared = Arc::new((Sleep::new(1, Limit::NONE), Tasks::new(0)));
            let worker = shared.clone();
            let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
            let (sleep, tasks) = &*shared;
            tasks.add_one();
            let wake_token = WakeToken::default();
            sleep.notify_addressed(0, by_a_worker.then_some(&wake_token));
            worker.join().unwrap();
        });
    }
}

/// The worker that it is sent to has something else to do, and another sleeps.
#[test]
fn loom_sleep_what_is_addressed_to_a_stuck_worker_wakes_another() {
    for by_a_worker in [false, true] {
        check(4, move || {
            let shared = Arc::new((Sleep::new(2, Limit::NONE), Tasks::new(0)));
            let worker = shared.clone();
            let worker = thread::spawn(move || work_once(1, &worker.0, &worker.1));
            let (sleep, tasks) = &*shared;
            tasks.add_one();
            let wake_token = WakeToken::default();
            sleep.notify_addressed(0, by_a_worker.then_some(&wake_token));
            worker.join().unwrap();
        });
    }
}

/// Two tasks for a place of two workers, which may both sleep. Each does one, and then is stuck.
#[test]
fn loom_sleep_what_is_addressed_to_a_place_wakes_all_that_it_takes() {
    for by_a_worker in [false, true] {
        check(2, move || {
            let shared = Arc::new((Sleep::new(2, Limit::NONE), Tasks::new(0)));
            let workers = [0, 1].map(|worker| {
                let shared = shared.clone();
                thread::spawn(move || work_once(worker, &shared.0, &shared.1))
            });
            let (sleep, tasks) = &*shared;
            let wake_token = WakeToken::default();
            for _ in 0..2 {
                tasks.add_one();
                sleep.notify_addressed_to_some(0..2, by_a_worker.then_some(&wake_token));
            }
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    }
}

/// Something is sent to a place whose worker falls asleep, while one elsewhere searches, which sees it
/// and leaves it there, and then stops searching for something else. A worker that relied on that one
/// would wait for ever.
#[test]
fn loom_sleep_what_is_addressed_to_a_place_is_done_though_one_elsewhere_leaves_it() {
    for by_a_worker in [false, true] {
        check(2, move || {
            let shared = Arc::new((Sleep::new(2, Limit::NONE), Tasks::new(0)));
            let worker = shared.clone();
            let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
            let leaver = shared.clone();
            let leaver = thread::spawn(move || {
                leaver.0.begin_search();
                leaver.0.end_search(&WakeToken::default(), || leaver.1.are_left());
            });
            let (sleep, tasks) = &*shared;
            tasks.add_one();
            let wake_token = WakeToken::with_neighbours(1..2);
            sleep.notify_addressed_to_some(0..1, by_a_worker.then_some(&wake_token));
            leaver.join().unwrap();
            worker.join().unwrap();
        });
    }
}

#[test]
fn loom_sleep_the_last_thief_to_leave_wakes_another() {
    check(2, || {
        let shared = Arc::new((Sleep::new(2, Limit::NONE), Tasks::new(0)));
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let shared = shared.clone();
                // Each takes one task and never comes back: as if it were stuck in it.
                thread::spawn(move || work_once(worker, &shared.0, &shared.1))
            })
            .collect();
        let (sleep, tasks) = &*shared;
        let wake_token = WakeToken::default();
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// Items that are not looked at.
const ITEM: NonNull<u64> = NonNull::dangling();

fn push(deque: &ChaseLevOwner<u64>, sleep: &Sleep, wake_token: &WakeToken) {
    let (index, done) = deque.push(ITEM);
    if !done && deque.at_the_ceiling(index) == Pushed::Openly {
        sleep.notify_pushed_openly(deque, wake_token);
    }
}

/// A deque whose owner has closed it.
fn closed_deque(sleep: &Sleep) -> (ChaseLevOwner<u64>, ChaseLevThief<u64>) {
    let (owner, thief) = chase_lev(true);
    for _ in 0..2 {
        push(&owner, sleep, &WakeToken::default());
        assert!(owner.pop_newest().is_some());
    }
    (owner, thief)
}

/// Searches and sleeps until it has stolen one.
fn steal_once(worker: usize, sleep: &Sleep, victim: &ChaseLevThief<u64>) {
    sleep.begin_search();
    while !matches!(victim.steal_oldest(), Steal::Taken(_)) {
        sleep.sleep(worker, |_| {
            victim.open_by_force();
            !victim.is_empty()
        });
    }
    sleep.end_search(&WakeToken::default(), || {
        victim.open_by_force();
        !victim.is_empty()
    });
}

#[test]
fn loom_sleep_a_push_to_a_closed_deque_is_seen() {
    check(3, || {
        let sleep = Arc::new(Sleep::new(1, Limit::NONE));
        let (owner, victim) = closed_deque(&sleep);
        let thief = sleep.clone();
        let thief = thread::spawn(move || steal_once(0, &thief, &victim));
        // And then nothing more: as if it were stuck in its task.
        push(&owner, &sleep, &WakeToken::default());
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_deque_is_closed_while_a_thief_falls_asleep() {
    check(2, || {
        let sleep = Arc::new(Sleep::new(1, Limit::NONE));
        let (owner, victim) = chase_lev(true);
        let thief = sleep.clone();
        let thief = thread::spawn(move || steal_once(0, &thief, &victim));
        let wake_token = WakeToken::default();
        push(&owner, &sleep, &wake_token);
        if owner.pop_newest().is_some() {
            push(&owner, &sleep, &wake_token); // closes it, if it is left alone
            if owner.pop_newest().is_some() {
                push(&owner, &sleep, &wake_token);
            }
        }
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_the_last_thief_to_leave_has_deques_opened() {
    check(2, || {
        let sleep = Arc::new(Sleep::new(2, Limit::NONE));
        // Closed because a worker searches; it then leaves with other work, or because what it waited
        // for has happened.
        sleep.begin_search();
        let (owner, victim) = closed_deque(&sleep);
        let (leaver, its_victim) = (sleep.clone(), victim.clone());
        let leaver = thread::spawn(move || {
            leaver.end_search(&WakeToken::default(), || {
                its_victim.open_by_force();
                !its_victim.is_empty()
            });
        });
        let thief = sleep.clone();
        let thief = thread::spawn(move || steal_once(1, &thief, &victim));
        // The other thief may have it opened when it falls asleep. Then it is closed again, if
        // nothing is stolen.
        let wake_token = WakeToken::default();
        for _ in 0..2 {
            push(&owner, &sleep, &wake_token);
            let _ = owner.pop_newest();
        }
        push(&owner, &sleep, &wake_token);
        leaver.join().unwrap();
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_latch_wakes_its_waiter() {
    // The join latch: the thief sets the flag and wakes the owner, which sleeps unless it sees the
    // flag.
    check(4, || {
        let shared = Arc::new((Sleep::new(1, Limit::NONE), Event::new()));
        let thief = shared.clone();
        let thief = thread::spawn(move || {
            let (sleep, latch) = &*thief;
            latch.set();
            sleep.wake(0);
        });
        let (sleep, latch) = &*shared;
        sleep.begin_search();
        while !latch.is_set() {
            sleep.sleep(0, |_| latch.is_set());
        }
        sleep.end_search(&WakeToken::default(), || false);
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_latch_and_a_push_at_once() {
    check(3, || {
        let shared = Arc::new((Sleep::new(2, Limit::NONE), Event::new(), Tasks::new(0)));
        let other = shared.clone();
        let other = thread::spawn(move || work_once(1, &other.0, &other.2));
        let waiter = shared.clone();
        let waiter = thread::spawn(move || {
            let (sleep, latch, _) = &*waiter;
            sleep.begin_search();
            while !latch.is_set() {
                sleep.sleep(0, |_| latch.is_set());
            }
            sleep.end_search(&WakeToken::default(), || waiter.2.are_left());
        });
        let (sleep, latch, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&WakeToken::default());
        latch.set();
        sleep.wake(0);
        waiter.join().unwrap();
        other.join().unwrap();
    });
}

/// Searches and sleeps until it has had so many pinned tasks.
fn read(worker: usize, sleep: &Sleep, queue: &Reader<u64>, count: usize) {
    sleep.begin_search();
    for _ in 0..count {
        while queue.take().is_none() {
            sleep.sleep(worker, |_| !queue.is_empty());
        }
    }
    sleep.end_search(&WakeToken::default(), || false);
}

#[test]
fn loom_sleep_a_pinned_task_wakes_its_reader() {
    check(4, || {
        let sleep = Arc::new(Sleep::new(1, Limit::NONE));
        let (pinned_queue, pinned_tasks) = pinned_queue();
        let reader = sleep.clone();
        let reader = thread::spawn(move || read(0, &reader, &pinned_tasks, 1));
        pinned_queue.send(ITEM);
        sleep.wake(0);
        reader.join().unwrap();
    });
}

#[test]
fn loom_sleep_two_pinned_tasks_at_once_wake_their_reader() {
    check(2, || {
        let sleep = Arc::new(Sleep::new(1, Limit::NONE));
        let (pinned_queue, pinned_tasks) = pinned_queue();
        let reader = sleep.clone();
        let reader = thread::spawn(move || read(0, &reader, &pinned_tasks, 2));
        let (other, its_sleep) = (pinned_queue.clone(), sleep.clone());
        let other = thread::spawn(move || {
            other.send(ITEM);
            its_sleep.wake(0);
        });
        pinned_queue.send(ITEM);
        sleep.wake(0);
        other.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_pinned_task_does_not_use_up_a_push() {
    // The worker that is woken for the push may get the pinned task first, and be stuck in it. Then the
    // other one has to be woken.
    check(2, || {
        let shared = Arc::new((Sleep::new(2, Limit::NONE), Tasks::new(0), Event::new()));
        let (pinned_queue, pinned_tasks) = pinned_queue();
        let reader = shared.clone();
        let reader = thread::spawn(move || {
            let (sleep, tasks, done) = &*reader;
            sleep.begin_search();
            while pinned_tasks.take().is_none() {
                if tasks.take_one() {
                    done.set();
                    sleep.wake(1);
                } else {
                    sleep.sleep(0, |_| !pinned_tasks.is_empty() || tasks.are_left());
                }
            }
            sleep.end_search(&WakeToken::default(), || tasks.are_left());
        });
        let other = shared.clone();
        let other = thread::spawn(move || {
            let (sleep, tasks, done) = &*other;
            sleep.begin_search();
            while !done.is_set() && !tasks.take_one() {
                sleep.sleep(1, |_| done.is_set() || tasks.are_left());
            }
            sleep.end_search(&WakeToken::default(), || tasks.are_left());
        });
        let (sleep, tasks, _) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&WakeToken::default());
        pinned_queue.send(ITEM);
        sleep.wake(0);
        reader.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn loom_sleep_closing_wakes_all() {
    check(2, || {
        let shared = Arc::new((Sleep::new(2, Limit::NONE), Event::new()));
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (sleep, closed) = &*shared;
                    sleep.begin_search();
                    while !closed.is_set() {
                        sleep.sleep(worker, |_| closed.is_set());
                    }
                })
            })
            .collect();
        shared.1.set();
        shared.0.wake_all();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_a_thief_that_leaves_does_not_wait_for_who_got_up_before() {
    check(3, || {
        let shared = Arc::new((Sleep::new(2, Limit::NONE), Tasks::new(0)));
        let sleeper = shared.clone();
        let sleeper = thread::spawn(move || {
            work_once(0, &sleeper.0, &sleeper.1);
            work_once(0, &sleeper.0, &sleeper.1);
        });
        let leaver = shared.clone();
        let leaver = thread::spawn(move || {
            let (sleep, tasks) = &*leaver;
            let wake_token = WakeToken::default();
            sleep.begin_search();
            // It has found a task that is not modelled, which pushes another.
            sleep.end_search(&wake_token, || tasks.are_left());
            tasks.add_one();
            sleep.notify_pushed(&wake_token);
        });
        let (sleep, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_sent();
        leaver.join().unwrap();
        sleeper.join().unwrap();
    });
}
