//! The stall harness for the sleep protocol, and tests of which sleepers are woken.

mod liveness;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::{Limit, Sleep, SleepRole, WakeToken};
use crate::primitive::stepped::{self, Gate};

const PATIENCE: Duration = Duration::from_secs(20);

/// Workers that take tasks from one counter, and sleep while it is 0.
struct Crew {
    sleep: Sleep,
    tasks: AtomicUsize,
    closed: AtomicUsize,
}

impl Crew {
    fn new(workers: usize) -> Arc<Self> {
        let (tasks, closed) = Default::default();
        Arc::new(Self { sleep: Sleep::new(workers, Limit::NONE), tasks, closed })
    }

    fn take_one(&self) -> bool {
        let less = |count: usize| count.checked_sub(1);
        self.tasks.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    fn must_stay_awake(&self) -> bool {
        self.tasks.load(Ordering::Acquire) + self.closed.load(Ordering::Acquire) > 0
    }

    fn serve(&self, worker: usize, report: impl Fn()) {
        let wake_token = WakeToken::default();
        while self.closed.load(Ordering::Acquire) == 0 {
            self.sleep.begin_search();
            let found = loop {
                if self.closed.load(Ordering::Acquire) > 0 {
                    break false;
                }
                if self.take_one() {
                    break true;
                }
                self.sleep.sleep(worker, false, |_| self.must_stay_awake());
            };
            self.sleep.end_search(&wake_token, || self.must_stay_awake());
            if found {
                report();
            }
        }
    }

    fn send(&self) {
        self.tasks.fetch_add(1, Ordering::AcqRel);
        self.sleep.notify_injected();
    }

    fn close(&self) {
        self.closed.store(1, Ordering::Release);
        self.sleep.wake_all();
    }

    fn wait_until_asleep(&self, workers: usize) {
        while self.sleep.snapshot().asleep() < workers {
            thread::yield_now();
        }
    }
}

/// Does what [`Sleep::sleep`] does before it parks.
fn put_to_sleep(sleep: &Sleep, worker: usize) -> SleepRole {
    sleep.begin_search();
    sleep.sleepers.insert(worker);
    sleep.begin_sleep(false)
}

/// A pool of so many workers, of which these sleep.
fn with_sleepers(workers: usize, limit: Limit, asleep: &[usize]) -> Sleep {
    let sleep = Sleep::new(workers, limit);
    for &worker in asleep {
        put_to_sleep(&sleep, worker);
    }
    sleep
}

fn woken(sleep: &Sleep) -> Vec<usize> {
    (0..sleep.parkers.len()).filter(|&worker| sleep.parkers[worker].is_notified()).collect()
}

fn limit(awake: usize) -> Limit {
    Limit { awake, timed_park: PATIENCE }
}

#[test]
fn a_suspended_sender_leaves_the_only_sleeper_to_the_next_sender() {
    for steps in 0.. {
        let crew = Crew::new(1);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            scope.spawn(|| crew.serve(0, move || report.send(()).unwrap()));
            crew.wait_until_asleep(1);
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                crew.send();
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            crew.send();
            // Both tasks are done: the first was sent before the held sender began to wake.
            let done = (reports.recv_timeout(PATIENCE), reports.recv_timeout(PATIENCE));
            gate.open();
            crew.close();
            assert_eq!(done, (Ok(()), Ok(())), "held after {steps} steps");
            held
        });
        if !held {
            break;
        }
    }
}

#[test]
fn a_suspended_sleeper_leaves_the_tasks_to_another_worker() {
    for steps in 0.. {
        let crew = Crew::new(2);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            let also_report = report.clone();
            scope.spawn(|| crew.serve(0, move || also_report.send(()).unwrap()));
            crew.wait_until_asleep(1);
            // This worker sleeps, is woken and takes a task; the gate holds it at one of the steps.
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                crew.serve(1, move || report.send(()).unwrap());
                stepped::disarm();
            });
            // It may park before it comes to that step. Then the tasks below wake it.
            thread::sleep(Duration::from_millis(2));
            for _ in 0..4 {
                crew.send();
            }
            // The held worker may have taken one of the four.
            let done = (0..3).filter(|_| reports.recv_timeout(PATIENCE).is_ok()).count();
            let held = gate.is_held();
            gate.open();
            crew.close();
            assert_eq!(done, 3, "held after {steps} steps");
            held
        });
        if !held && steps > 40 {
            break;
        }
    }
}

#[test]
fn a_thief_suspended_while_it_wakes_its_successor_delays_no_task() {
    for steps in 0.. {
        let crew = Crew::new(2);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            scope.spawn(|| crew.serve(0, move || report.send(()).unwrap()));
            crew.wait_until_asleep(1);
            // The last thief stops searching while a task is ready.
            scope.spawn(|| {
                crew.sleep.begin_search();
                stepped::arm(steps, &gate);
                crew.tasks.fetch_add(1, Ordering::AcqRel);
                crew.sleep.end_search(&WakeToken::default(), || true);
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            crew.send();
            let done = (reports.recv_timeout(PATIENCE), reports.recv_timeout(PATIENCE));
            gate.open();
            crew.close();
            assert_eq!(done, (Ok(()), Ok(())), "held after {steps} steps");
            held
        });
        if !held {
            break;
        }
    }
}

#[test]
fn a_worker_requests_one_wake_up_at_a_time() {
    let sleep = with_sleepers(3, Limit::NONE, &[0, 1, 2]);
    let wake_token = WakeToken::default();
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [0]);
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [0], "the requested wake-up is under way");
    sleep.notify_injected();
    assert_eq!(woken(&sleep), [0, 1], "a sender from outside wakes one more");
    sleep.counters.end_sleep(false);
    sleep.sleepers.remove(0);
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [0, 1], "a worker searches");
    assert_eq!((sleep.snapshot().searching(), sleep.snapshot().asleep()), (1, 2));
    sleep.end_search(&wake_token, || true);
    assert_eq!(woken(&sleep), [0, 1, 2], "the last thief wakes a successor");
}

#[test]
fn a_task_addressed_to_a_worker_that_is_waking_up_wakes_another_worker() {
    let sleep = with_sleepers(3, Limit::NONE, &[0, 1, 2]);
    sleep.notify_addressed(1..2, false, None);
    assert_eq!(woken(&sleep), [1]);
    sleep.notify_addressed(1..2, false, None);
    assert_eq!(woken(&sleep), [0, 1], "the addressed worker may be suspended");
    sleep.notify_addressed(1..2, false, Some(&WakeToken::default()));
    assert_eq!(woken(&sleep), [0, 1, 2], "no worker searches yet");
}

#[test]
fn a_task_addressed_to_several_workers_wakes_one_of_them_or_else_any() {
    let sleep = with_sleepers(4, Limit::NONE, &[0, 2, 3]);
    for after in [&[2][..], &[2, 3], &[0, 2, 3]] {
        sleep.notify_addressed(1..4, false, None);
        assert_eq!(woken(&sleep), after);
    }
    let sleep = with_sleepers(1, Limit::NONE, &[0]);
    sleep.notify_addressed(0..0, false, Some(&WakeToken::default()));
    assert_eq!(woken(&sleep), [0], "a place without workers");
}

#[test]
fn a_worker_that_sends_leaves_the_task_to_an_addressed_worker_that_is_waking_up() {
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    let wake_token = WakeToken::with_neighbours(0..2);
    for after in [&[3][..], &[3, 4], &[3, 4], &[3, 4]] {
        // The second wake-up is that of a push: no worker searches yet.
        sleep.notify_addressed(3..6, false, Some(&wake_token));
        assert_eq!(woken(&sleep), after);
    }
    sleep.begin_search();
    sleep.notify_addressed(1..3, false, Some(&wake_token));
    assert_eq!(woken(&sleep), [1, 3, 4], "thieves leave the task to the addressed workers");
    sleep.notify_addressed(1..3, false, Some(&wake_token));
    assert_eq!(woken(&sleep), [1, 3, 4], "an addressed worker is waking up");
    sleep.notify_addressed(1..3, false, None);
    assert_eq!(woken(&sleep), [1, 2, 3, 4], "a thread that is no worker will not search");
}

#[test]
fn a_worker_that_sends_wakes_no_worker_over_the_limit_if_an_addressed_one_is_awake() {
    let sleep = with_sleepers(4, limit(2), &[1, 3]);
    sleep.notify_addressed(2..4, false, Some(&WakeToken::default()));
    assert!(woken(&sleep).is_empty());
    sleep.notify_addressed(2..4, false, None);
    assert_eq!(woken(&sleep), [3]);
    let sleep = with_sleepers(4, limit(2), &[2, 3]);
    sleep.notify_addressed(2..4, false, Some(&WakeToken::default()));
    assert_eq!(woken(&sleep), [2], "all addressed workers sleep");
    let sleep = with_sleepers(4, limit(2), &[1, 2, 3]);
    sleep.notify_addressed(0..2, false, Some(&WakeToken::default()));
    assert_eq!(woken(&sleep), [1], "the limit is not reached");
}

/// Four workers, of which two are allowed and two sleep.
fn at_the_send_limit() -> Sleep {
    let sleep = Sleep::with_slots(4, 4, 0, limit(2), 2);
    put_to_sleep(&sleep, 3);
    put_to_sleep(&sleep, 2);
    sleep
}

#[test]
fn an_addressed_task_wakes_no_worker_over_the_send_limit() {
    let sleep = at_the_send_limit();
    for wake_token in [None, Some(&WakeToken::default())] {
        sleep.notify_addressed(2..3, false, wake_token);
        sleep.notify_addressed(2..4, false, wake_token);
        sleep.notify_addressed(2..4, true, wake_token);
        assert!(woken(&sleep).is_empty(), "two workers are awake, and there is a sentinel");
        assert!(sleep.is_send_limit_reached());
    }
    put_to_sleep(&sleep, 1);
    assert!(!sleep.is_send_limit_reached());
    sleep.notify_addressed(2..3, false, None);
    assert_eq!(woken(&sleep), [2], "one worker below the send limit");
}

#[test]
fn a_sent_task_wakes_one_worker_more_if_one_more_is_allowed() {
    let sleep = at_the_send_limit();
    sleep.notify_injected();
    assert!(woken(&sleep).is_empty() && sleep.is_send_limit_reached());
    sleep.set_one_more_allowed(true);
    assert!(!sleep.is_send_limit_reached() && !sleep.is_over_send_limit());
    sleep.notify_injected();
    assert_eq!(woken(&sleep).len(), 1);
    sleep.set_one_more_allowed(false);
    assert!(sleep.is_send_limit_reached());
}

#[test]
fn a_raised_limit_wakes_as_many_workers_as_are_missing() {
    for (asleep, after) in [(&[1, 2, 3, 4][..], &[1][..]), (&[2, 3, 4], &[]), (&[3, 4], &[])] {
        let sleep = Sleep::with_slots(5, 5, 0, limit(2), 2);
        sleep.set_limit(limit(1), 2);
        for &worker in asleep {
            put_to_sleep(&sleep, worker);
        }
        sleep.set_limit(limit(2), 2);
        assert_eq!(woken(&sleep), after);
        sleep.set_limit(limit(3), 3);
        assert_eq!(woken(&sleep), asleep, "more are allowed: all look again");
    }
}

#[test]
fn a_task_for_bound_workers_also_wakes_one_of_the_others_if_no_worker_searches() {
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    let wake_token = WakeToken::default();
    for _ in 0..3 {
        sleep.notify_addressed(3..6, true, Some(&wake_token));
        assert_eq!(woken(&sleep), [1, 3], "both are waking up");
    }
    sleep.notify_addressed(3..6, true, None);
    assert_eq!(woken(&sleep), [1, 2, 3, 4], "a thread that is no worker will not search");
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    sleep.begin_search();
    sleep.notify_addressed(3..6, true, None);
    assert_eq!(woken(&sleep), [3], "a worker searches");
    // The addressed worker was woken, and may wait for a processor.
    for wake_token in [Some(&WakeToken::default()), None] {
        let sleep = with_sleepers(4, Limit::NONE, &[1, 2, 3]);
        sleep.wake(3);
        sleep.notify_addressed(3..4, true, wake_token);
        assert_eq!(woken(&sleep), [1, 3], "one other worker, and not two");
    }
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    sleep.wake(3);
    sleep.notify_addressed(3..6, true, Some(&WakeToken::default()));
    assert_eq!(woken(&sleep), [1, 3], "no second addressed worker instead of the other one");
    let sleep = with_sleepers(4, limit(2), &[2, 3]);
    sleep.notify_addressed(0..2, true, None);
    assert_eq!(woken(&sleep), [2], "the limit does not hold for a sender from outside");
}

#[test]
fn wake_first_prefers_a_sleeper_that_is_not_waking_up() {
    let sleep = with_sleepers(6, Limit::NONE, &[0, 3, 5]);
    for after in [&[3][..], &[3, 5], &[3, 5]] {
        sleep.wake_first(|worker| (2..6).contains(&worker));
        assert_eq!(woken(&sleep), after);
    }
    sleep.wake_first(|worker| worker == 1);
    assert_eq!(woken(&sleep), [3, 5], "worker 1 is awake");
}

#[test]
fn a_replacement_wakes_the_neighbours_of_the_worker_that_it_replaces() {
    let sleep = with_sleepers(6, Limit::NONE, &[0, 1, 3, 4]);
    let wake_token = WakeToken::with_neighbours(0..3);
    wake_token.set_neighbours(3..6);
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [3]);
}

#[test]
fn neighbours_are_woken_first() {
    let sleep = with_sleepers(6, Limit::NONE, &[0, 1, 3, 4]);
    for after in [&[3][..], &[3, 4], &[0, 3, 4], &[0, 1, 3, 4]] {
        sleep.notify_pushed(&WakeToken::with_neighbours(3..6));
        assert_eq!(woken(&sleep), after);
    }
}

#[test]
fn fewer_workers_than_the_pool_has_are_a_limit_for_sent_tasks() {
    let sleep = Sleep::with_slots(4, 4, 0, Limit::NONE, 4);
    let is_reduced = || (sleep.has_reduced_size(), sleep.has_send_limit());
    assert_eq!(is_reduced(), (false, false));
    sleep.set_limit(Limit::NONE, 3);
    assert_eq!(is_reduced(), (false, true));
    for worker in [2, 3] {
        put_to_sleep(&sleep, worker);
    }
    sleep.resize(2);
    assert_eq!(is_reduced(), (true, true));
    assert_eq!(woken(&sleep), [2, 3], "all look again");
}

#[test]
fn an_affinity_that_may_be_narrowed_has_an_epoch_for_each_interval_awake() {
    assert_eq!(Sleep::new(1, Limit::NONE).unrestricted_epoch(0), Some(0));
    let mut sleep = Sleep::new(1, Limit::NONE);
    sleep.enable_wake_affinities(1);
    assert_eq!(sleep.processors, 1);
    let wake_affinity = &sleep.wake_affinities[0];
    for _ in 0..2 {
        assert_eq!(sleep.unrestricted_epoch(0), wake_affinity.unrestricted_epoch());
        wake_affinity.begin_sleep(1);
        assert_eq!(sleep.unrestricted_epoch(0), wake_affinity.unrestricted_epoch());
        wake_affinity.end_sleep();
    }
}

#[test]
fn the_set_of_sleepers_spans_several_words() {
    let sleepers = super::sleepers::Sleepers::new(130);
    for worker in [0, 63, 64, 129] {
        sleepers.insert(worker);
    }
    assert_eq!(sleepers.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
    assert!(sleepers.contains(64) && !sleepers.contains(65));
    sleepers.remove(64);
    assert_eq!(sleepers.iter().collect::<Vec<_>>(), [0, 63, 129]);
}

#[test]
fn a_worker_leaves_pushes_to_the_sentinel_only_while_the_limit_is_reached() {
    use SleepRole::{Ordinary, Sentinel, Spare};
    let roles = |awake| {
        let sleep = Sleep::new(4, limit(awake));
        [1, 2, 3].map(|worker| put_to_sleep(&sleep, worker))
    };
    assert_eq!(roles(4), [Ordinary, Ordinary, Ordinary]);
    assert_eq!(roles(3), [Sentinel, Ordinary, Ordinary]);
    assert_eq!(roles(2), [Sentinel, Spare, Ordinary]);
    assert_eq!(roles(1), [Sentinel, Spare, Spare]);
}

/// If the sentinel stays one while the others sleep, no worker has to be woken to become one when
/// they are awake again.
#[test]
fn a_reserve_sentinel_is_the_sentinel_when_the_limit_is_reached_again() {
    let sleep = Sleep::new(3, limit(2));
    let needs_thief = || sleep.needs_thief(sleep.snapshot());
    (0..3).for_each(|_| sleep.begin_search());
    assert_eq!(sleep.begin_sleep(false), SleepRole::Sentinel);
    sleep.counters.end_sleep(true);
    assert_eq!(sleep.begin_sleep(true), SleepRole::Sentinel, "it is over the limit");
    sleep.counters.end_sleep(true);
    let _ = (sleep.counters.begin_sleep(), sleep.counters.begin_sleep());
    assert_eq!(sleep.begin_sleep(true), SleepRole::ReserveSentinel);
    for _ in 0..2 {
        assert!(needs_thief(), "more workers sleep than the spare one");
        sleep.counters.end_sleep(false);
        let _ = sleep.counters.end_search();
    }
    assert!(sleep.snapshot().has_sentinel() && !needs_thief());
    sleep.begin_search();
    assert_eq!(sleep.begin_sleep(true), SleepRole::Ordinary, "there is a sentinel");
    let sleep = Sleep::new(1, Limit::NONE);
    sleep.begin_search();
    assert_eq!(sleep.begin_sleep(true), SleepRole::Ordinary, "there is no limit");
}
