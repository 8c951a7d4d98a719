//! Loom models of the sleep protocol. A lost wake-up is a deadlock, which loom reports.

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use super::notify::ANY;
use super::{Parker, Sleep, SleepRole, WakeToken, Watch};
use crate::deque::{ChaseLevOwner, ChaseLevThief, Steal, chase_lev};
use crate::numbers::Slot;
use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

mod limit;

/// The protocol of a pool of so many workers, all of which may be active.
fn unlimited(workers: usize) -> Sleep {
    Sleep::new(workers, workers, workers)
}

/// A token of a worker that prefers no sleeper.
fn token() -> WakeToken {
    WakeToken::new(ANY)
}

/// Sleeps in a pool without a limit.
fn sleep_unless(sleep: &Sleep, worker: usize, is_called: impl Fn() -> bool) {
    let look_again = |role| {
        assert_eq!(role, SleepRole::Ordinary);
        is_called()
    };
    sleep.sleep(Slot::new(worker), look_again, || unreachable!("there is no limit"));
}

fn wake(sleep: &Sleep, worker: usize) {
    sleep.parker(Slot::new(worker)).unpark();
}

/// A number of ready tasks.
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

/// An event that happens once and that workers wait for.
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

/// Searches and sleeps until it has taken one task.
fn work_once(worker: usize, sleep: &Sleep, tasks: &Tasks) {
    let wake_token = token();
    sleep.begin_search();
    while !tasks.take_one() {
        sleep_unless(sleep, worker, || tasks.are_left());
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
        let shared = Arc::new((unlimited(1), Tasks::new(0)));
        let worker = shared.clone();
        let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
        let (sleep, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&token());
        worker.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_push_after_a_finished_wake_up_wakes_again() {
    check(3, || {
        let shared = Arc::new((unlimited(1), Tasks::new(0)));
        let worker = shared.clone();
        let worker = thread::spawn(move || {
            work_once(0, &worker.0, &worker.1);
            work_once(0, &worker.0, &worker.1);
        });
        let (sleep, tasks) = &*shared;
        let wake_token = token();
        for _ in 0..2 {
            tasks.add_one();
            sleep.notify_pushed(&wake_token);
        }
        worker.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_sent_task_wakes_a_worker() {
    check(4, || {
        let shared = Arc::new((unlimited(1), Tasks::new(0)));
        let worker = shared.clone();
        let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
        let (sleep, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_sent();
        worker.join().unwrap();
    });
}

#[test]
fn loom_sleep_an_addressed_task_wakes_the_worker() {
    for by_a_worker in [false, true] {
        check(4, move || {
            let shared = Arc::new((unlimited(1), Tasks::new(0)));
            let worker = shared.clone();
            let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
            let (sleep, tasks) = &*shared;
            tasks.add_one();
            let wake_token = token();
            sleep.notify_addressed(&(0..1), by_a_worker.then_some(&wake_token));
            worker.join().unwrap();
        });
    }
}

/// The addressed worker is busy with another task, and another worker sleeps.
#[test]
fn loom_sleep_a_task_addressed_to_a_blocked_worker_wakes_another() {
    for by_a_worker in [false, true] {
        check(4, move || {
            let shared = Arc::new((unlimited(2), Tasks::new(0)));
            let worker = shared.clone();
            let worker = thread::spawn(move || work_once(1, &worker.0, &worker.1));
            let (sleep, tasks) = &*shared;
            tasks.add_one();
            let wake_token = token();
            sleep.notify_addressed(&(0..1), by_a_worker.then_some(&wake_token));
            worker.join().unwrap();
        });
    }
}

/// Two tasks for a place of two workers, which may both sleep. Each worker takes one task and then
/// blocks.
#[test]
fn loom_sleep_tasks_addressed_to_a_place_wake_as_many_workers() {
    for by_a_worker in [false, true] {
        check(2, move || {
            let shared = Arc::new((unlimited(2), Tasks::new(0)));
            let workers = [0, 1].map(|worker| {
                let shared = shared.clone();
                thread::spawn(move || work_once(worker, &shared.0, &shared.1))
            });
            let (sleep, tasks) = &*shared;
            let wake_token = token();
            for _ in 0..2 {
                tasks.add_one();
                sleep.notify_addressed(&(0..2), by_a_worker.then_some(&wake_token));
            }
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    }
}

/// A task is sent to a place while its worker falls asleep. A worker of another place searches,
/// leaves the task there and stops searching. A sender that relied on that thief would lose the
/// wake-up.
#[test]
fn loom_sleep_a_task_for_a_place_is_run_though_a_thief_elsewhere_leaves_it() {
    for by_a_worker in [false, true] {
        check(2, move || {
            let shared = Arc::new((unlimited(2), Tasks::new(0)));
            let worker = shared.clone();
            let worker = thread::spawn(move || work_once(0, &worker.0, &worker.1));
            let leaver = shared.clone();
            let leaver = thread::spawn(move || {
                leaver.0.begin_search();
                leaver.0.end_search(&token(), || leaver.1.are_left());
            });
            let (sleep, tasks) = &*shared;
            tasks.add_one();
            let wake_token = WakeToken::new(1..2);
            sleep.notify_addressed(&(0..1), by_a_worker.then_some(&wake_token));
            leaver.join().unwrap();
            worker.join().unwrap();
        });
    }
}

#[test]
fn loom_sleep_the_last_thief_to_leave_wakes_another() {
    check(2, || {
        let shared = Arc::new((unlimited(2), Tasks::new(0)));
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let shared = shared.clone();
                // Each worker takes one task and never comes back, as if it blocked in it.
                thread::spawn(move || work_once(worker, &shared.0, &shared.1))
            })
            .collect();
        let (sleep, tasks) = &*shared;
        let wake_token = token();
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// An item with content that does not matter.
const ITEM: NonNull<u64> = NonNull::dangling();

fn push(deque: &ChaseLevOwner<u64>, sleep: &Sleep, wake_token: &WakeToken) {
    let pushed = deque.push(ITEM);
    if !pushed.is_complete && deque.after_slow_push(pushed.index) {
        sleep.notify_pushed_then_close(deque, wake_token);
    }
}

/// A deque that its owner has closed.
fn closed_deque(sleep: &Sleep) -> (ChaseLevOwner<u64>, ChaseLevThief<u64>) {
    let (owner, thief) = chase_lev(Some(2));
    for _ in 0..2 {
        push(&owner, sleep, &token());
        assert!(owner.pop_newest().is_some());
    }
    (owner, thief)
}

/// Searches and sleeps until it has stolen one item.
fn steal_once(worker: usize, sleep: &Sleep, victim: &ChaseLevThief<u64>) {
    sleep.begin_search();
    while !matches!(victim.steal_oldest(), Steal::Taken(_)) {
        sleep_unless(sleep, worker, || {
            victim.open_by_force();
            !victim.is_empty()
        });
    }
    sleep.end_search(&token(), || {
        victim.open_by_force();
        !victim.is_empty()
    });
}

#[test]
fn loom_sleep_a_push_to_a_closed_deque_is_seen() {
    check(3, || {
        let sleep = Arc::new(unlimited(1));
        let (owner, victim) = closed_deque(&sleep);
        let thief = sleep.clone();
        let thief = thread::spawn(move || steal_once(0, &thief, &victim));
        // The owner does nothing after this, as if it blocked in its task.
        push(&owner, &sleep, &token());
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_deque_is_closed_while_a_thief_falls_asleep() {
    check(2, || {
        let sleep = Arc::new(unlimited(1));
        let (owner, victim) = chase_lev(Some(2));
        let thief = sleep.clone();
        let thief = thread::spawn(move || steal_once(0, &thief, &victim));
        let wake_token = token();
        push(&owner, &sleep, &wake_token);
        if owner.pop_newest().is_some() {
            push(&owner, &sleep, &wake_token); // closes the deque if nothing was stolen
            if owner.pop_newest().is_some() {
                push(&owner, &sleep, &wake_token);
            }
        }
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_the_last_thief_to_leave_opens_deques() {
    check(2, || {
        let sleep = Arc::new(unlimited(2));
        // The deque may close because a worker searches. That worker then stops, with other work or
        // because its wait is over.
        sleep.begin_search();
        let (owner, victim) = closed_deque(&sleep);
        let (leaver, its_victim) = (sleep.clone(), victim.clone());
        let leaver = thread::spawn(move || {
            leaver.end_search(&token(), || {
                its_victim.open_by_force();
                !its_victim.is_empty()
            });
        });
        let thief = sleep.clone();
        let thief = thread::spawn(move || steal_once(1, &thief, &victim));
        // The other thief may open the deque when it falls asleep. The pushes then close it again,
        // if nothing is stolen.
        let wake_token = token();
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
    // As in a join: the thief sets the latch and wakes the owner, which sleeps unless it sees the
    // latch set.
    check(4, || {
        let shared = Arc::new((unlimited(1), Event::new()));
        let thief = shared.clone();
        let thief = thread::spawn(move || {
            let (sleep, latch) = &*thief;
            latch.set();
            wake(sleep, 0);
        });
        let (sleep, latch) = &*shared;
        sleep.begin_search();
        while !latch.is_set() {
            sleep_unless(sleep, 0, || latch.is_set());
        }
        sleep.end_search(&token(), || false);
        thief.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_latch_and_a_push_wake_two_workers() {
    check(3, || {
        let shared = Arc::new((unlimited(2), Event::new(), Tasks::new(0)));
        let other = shared.clone();
        let other = thread::spawn(move || work_once(1, &other.0, &other.2));
        let waiter = shared.clone();
        let waiter = thread::spawn(move || {
            let (sleep, latch, _) = &*waiter;
            sleep.begin_search();
            while !latch.is_set() {
                sleep_unless(sleep, 0, || latch.is_set());
            }
            sleep.end_search(&token(), || waiter.2.are_left());
        });
        let (sleep, latch, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&token());
        latch.set();
        wake(sleep, 0);
        waiter.join().unwrap();
        other.join().unwrap();
    });
}

/// Searches and sleeps until it has taken `count` pinned tasks.
fn read(worker: usize, sleep: &Sleep, pinned: &Tasks, count: usize) {
    sleep.begin_search();
    for _ in 0..count {
        while !pinned.take_one() {
            sleep_unless(sleep, worker, || pinned.are_left());
        }
    }
    sleep.end_search(&token(), || false);
}

#[test]
fn loom_sleep_a_pinned_task_wakes_its_reader() {
    check(4, || {
        let shared = Arc::new((unlimited(1), Tasks::new(0)));
        let reader = shared.clone();
        let reader = thread::spawn(move || read(0, &reader.0, &reader.1, 1));
        let (sleep, pinned) = &*shared;
        pinned.add_one();
        wake(sleep, 0);
        reader.join().unwrap();
    });
}

#[test]
fn loom_sleep_two_pinned_tasks_at_once_wake_their_reader() {
    check(2, || {
        let shared = Arc::new((unlimited(1), Tasks::new(0)));
        let (reader, other) = (shared.clone(), shared.clone());
        let reader = thread::spawn(move || read(0, &reader.0, &reader.1, 2));
        let send = |(sleep, pinned): &(Sleep, Tasks)| {
            pinned.add_one();
            wake(sleep, 0);
        };
        let other = thread::spawn(move || send(&other));
        send(&shared);
        other.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn loom_sleep_a_pinned_task_does_not_use_up_a_push() {
    // The worker that the push wakes may take the pinned task first and block in it. Then it must
    // wake the other worker.
    check(2, || {
        let (pinned, tasks) = (Tasks::new(0), Tasks::new(0));
        let shared = Arc::new((unlimited(2), tasks, Event::new(), pinned));
        let reader = shared.clone();
        let reader = thread::spawn(move || {
            let (sleep, tasks, done, pinned) = &*reader;
            sleep.begin_search();
            while !pinned.take_one() {
                if tasks.take_one() {
                    done.set();
                    wake(sleep, 1);
                } else {
                    sleep_unless(sleep, 0, || pinned.are_left() || tasks.are_left());
                }
            }
            sleep.end_search(&token(), || tasks.are_left());
        });
        let other = shared.clone();
        let other = thread::spawn(move || {
            let (sleep, tasks, done, _) = &*other;
            sleep.begin_search();
            while !done.is_set() && !tasks.take_one() {
                sleep_unless(sleep, 1, || done.is_set() || tasks.are_left());
            }
            sleep.end_search(&token(), || tasks.are_left());
        });
        let (sleep, tasks, _, pinned) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&token());
        pinned.add_one();
        wake(sleep, 0);
        reader.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn loom_sleep_closing_wakes_all() {
    check(2, || {
        let shared = Arc::new((unlimited(2), Event::new()));
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (sleep, closed) = &*shared;
                    sleep.begin_search();
                    while !closed.is_set() {
                        sleep_unless(sleep, worker, || closed.is_set());
                    }
                })
            })
            .collect();
        shared.1.set();
        (0..2).for_each(|worker| wake(&shared.0, worker));
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_the_last_thief_does_not_rely_on_an_earlier_wake_up() {
    check(2, || {
        let shared = Arc::new((unlimited(2), Tasks::new(0)));
        let sleeper = shared.clone();
        let sleeper = thread::spawn(move || {
            work_once(0, &sleeper.0, &sleeper.1);
            work_once(0, &sleeper.0, &sleeper.1);
        });
        let leaver = shared.clone();
        let leaver = thread::spawn(move || {
            let (sleep, tasks) = &*leaver;
            let wake_token = token();
            sleep.begin_search();
            // It has found a task outside of the model, which pushes another one.
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

/// Two thieves begin and stop to search during a push. The first of them clears the flag that the
/// push reads, and the last one sets it.
#[test]
fn loom_sleep_two_thieves_come_and_go_during_a_push() {
    check(2, || {
        let shared = Arc::new((unlimited(3), Tasks::new(0)));
        let sleeper = shared.clone();
        let sleeper = thread::spawn(move || work_once(0, &sleeper.0, &sleeper.1));
        let thieves = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, tasks) = &*shared;
                sleep.begin_search();
                sleep.end_search(&token(), || tasks.are_left());
            })
        });
        let (sleep, tasks) = &*shared;
        tasks.add_one();
        sleep.notify_pushed(&token());
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        sleeper.join().unwrap();
    });
}

/// When all is quiet, the flag says what the counters say.
#[test]
fn loom_sleep_the_flag_follows_the_counters() {
    check(3, || {
        let sleep = Arc::new(unlimited(3));
        // One worker sleeps, for ever.
        sleep.begin_search();
        let _ = sleep.begin_sleep();
        let thieves = [(); 2].map(|()| {
            let sleep = sleep.clone();
            thread::spawn(move || {
                sleep.begin_search();
                sleep.end_search(&token(), || false);
            })
        });
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        assert!(sleep.snapshot().needs_thief(0) && sleep.needs_thief.load(Ordering::Relaxed));
    });
}

/// The waiter sees both of two events.
#[test]
fn loom_parker_loses_no_event() {
    check(3, || {
        let shared = Arc::new((Parker::default(), AtomicUsize::new(0)));
        let events = shared.clone();
        let events = thread::spawn(move || {
            for event in 1..=2 {
                events.1.store(event, Ordering::Release);
                events.0.unpark();
            }
        });
        for event in 1..=2 {
            while shared.1.load(Ordering::Acquire) < event {
                shared.0.park(|| shared.1.load(Ordering::Acquire) >= event, None);
            }
        }
        events.join().unwrap();
    });
}
