//! The stall harness for the sleep protocol, and tests of which sleepers are woken.

mod liveness;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::counters::Sleepers;
use super::notify::ANY;
use super::{Sleep, SleepOutcome, SleepRole, WakeToken, Watch};
use crate::numbers::Slot;
use crate::primitive::Ordering::Relaxed;
use crate::primitive::stepped::{self, Gate};

const PATIENCE: Duration = Duration::from_secs(20);

/// A token of a worker that prefers no sleeper.
fn token() -> WakeToken {
    WakeToken::new(ANY)
}

/// The protocol of a pool of so many workers, all of which may be active.
fn unlimited(workers: usize) -> Sleep {
    Sleep::new(workers, workers, workers)
}

/// The protocol of a pool of so many workers, of which `limit` may be active.
fn limited(workers: usize, limit: usize) -> Sleep {
    Sleep::new(workers, workers, limit)
}

/// Workers that take tasks from one counter, and sleep while it is 0.
struct Crew {
    sleep: Sleep,
    tasks: AtomicUsize,
    closed: AtomicUsize,
    /// How often the monitor has looked, and what it does then.
    looks: AtomicUsize,
    raises: bool,
}

impl Crew {
    fn new(workers: usize) -> Arc<Self> {
        Self::with(unlimited(workers), false)
    }

    /// If `raises`, the monitor raises the limit if it sees a task.
    fn with(sleep: Sleep, raises: bool) -> Arc<Self> {
        let (tasks, closed, looks) = Default::default();
        Arc::new(Self { sleep, tasks, closed, looks, raises })
    }

    fn take_one(&self) -> bool {
        let less = |count: usize| count.checked_sub(1);
        self.tasks.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) > 0
    }

    fn is_work_left(&self) -> bool {
        self.tasks.load(Ordering::Acquire) > 0
    }

    fn watch(&self) -> Watch {
        self.looks.fetch_add(1, Ordering::AcqRel);
        if self.sleep.active() == 0 {
            return Watch::Retire;
        }
        if self.raises && self.is_work_left() {
            if self.sleep.active() < self.sleep.limit() {
                return Watch::Wake;
            }
            self.sleep.set_limit(self.sleep.workers);
        }
        Watch::Continue
    }

    fn serve(&self, worker: usize, report: impl Fn()) {
        let wake_token = token();
        while !self.is_closed() {
            self.sleep.begin_search();
            let found = loop {
                if self.is_closed() {
                    break false;
                }
                if self.take_one() {
                    break true;
                }
                let look_again =
                    |role| self.is_closed() || role == SleepRole::Ordinary && self.is_work_left();
                self.sleep.sleep(Slot::new(worker), look_again, || self.watch());
            };
            self.sleep.end_search(&wake_token, || self.is_work_left() || self.is_closed());
            if found {
                report();
            }
        }
    }

    fn send(&self) {
        self.tasks.fetch_add(1, Ordering::AcqRel);
        self.sleep.notify_sent();
    }

    fn close(&self) {
        self.closed.store(1, Ordering::Release);
        for parker in &self.sleep.parkers {
            parker.unpark();
        }
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
    sleep.parkers[worker].prepare();
    sleep.sleepers.insert(Slot::new(worker));
    sleep.begin_sleep()
}

/// Does what [`Sleep::sleep`] does after it has parked.
fn wake_up(sleep: &Sleep, worker: usize, role: SleepRole) {
    sleep.end_sleep(Slot::new(worker), role);
}

/// Has these workers sleep, in this order.
fn with_sleepers(sleep: Sleep, asleep: &[usize]) -> Sleep {
    for &worker in asleep {
        put_to_sleep(&sleep, worker);
    }
    sleep
}

fn woken(sleep: &Sleep) -> Vec<usize> {
    (0..sleep.parkers.len()).filter(|&worker| sleep.parkers[worker].is_notified()).collect()
}

fn needs_thief(sleep: &Sleep) -> bool {
    sleep.needs_thief.load(Relaxed)
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
                crew.sleep.end_search(&token(), || true);
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

/// A worker pushes a task while another one, which falls asleep or begins to search, is held. The
/// second push comes after that.
#[test]
fn a_push_wakes_a_sleeper_while_another_worker_is_held_at_any_step() {
    for steps in 0.. {
        let crew = Crew::new(2);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            scope.spawn(|| crew.serve(0, move || report.send(()).unwrap()));
            crew.wait_until_asleep(1);
            // It searches in vain, and is held there, when it leaves, or not at all.
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                crew.sleep.begin_search();
                crew.sleep.end_search(&token(), || crew.is_work_left());
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            // A push may rely on a worker that searches, or that is about to look what is left.
            // Then the tasks are done when that one goes on.
            let relies = !needs_thief(&crew.sleep) || crew.sleep.snapshot().searching() > 0;
            let wake_token = token();
            for _ in 0..2 {
                crew.tasks.fetch_add(1, Ordering::AcqRel);
                crew.sleep.notify_pushed(&wake_token);
            }
            if relies {
                gate.open();
            }
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

/// The only active worker blocks, and the monitor is held at any step. Two workers are over the
/// limit. A sender wakes one of those if the monitor has gone, or the monitor raises the limit when
/// it goes on.
#[test]
fn tasks_end_after_the_monitor_was_held_at_any_step() {
    let mut times_held = 0;
    for steps in 0..60 {
        let crew = Crew::with(limited(3, 1), true);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        thread::scope(|scope| {
            let also_report = report.clone();
            // Worker 0 is active and blocks: it does nothing.
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                crew.serve(1, move || report.send(()).unwrap());
                stepped::disarm();
            });
            while !gate.is_held() && !crew.sleep.snapshot().has_monitor() {
                thread::yield_now();
            }
            let count = usize::from(!gate.is_held()) + 1;
            scope.spawn(|| crew.serve(2, move || also_report.send(()).unwrap()));
            // The second one is the monitor if the first is held before it sleeps.
            crew.wait_until_asleep(count.min(1));
            crew.send();
            crew.send();
            let is_held = gate.is_held();
            times_held += usize::from(is_held);
            thread::sleep(Duration::from_millis(1));
            gate.open();
            let done = (reports.recv_timeout(PATIENCE), reports.recv_timeout(PATIENCE));
            crew.close();
            assert_eq!(done, (Ok(()), Ok(())), "held after {steps} steps");
        });
    }
    assert!(times_held > 5, "the harness holds threads: {times_held}");
}

/// A thread that raises the limit is held at any step. The next one that raises it does not rely on
/// that.
#[test]
fn a_raised_limit_is_seen_while_another_thread_that_raises_it_is_held() {
    for steps in 0.. {
        let sleep = with_sleepers(limited(4, 1), &[1, 2, 3]);
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                sleep.set_limit(2);
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            sleep.set_limit(4);
            assert_eq!(woken(&sleep), [1, 2, 3], "held after {steps} steps");
            gate.open();
            held
        });
        if !held {
            break;
        }
    }
}

#[test]
fn a_worker_requests_one_wake_up_at_a_time() {
    let sleep = with_sleepers(unlimited(3), &[0, 1, 2]);
    let wake_token = token();
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [0]);
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [0], "the requested wake-up is under way");
    sleep.notify_sent();
    assert_eq!(woken(&sleep), [0, 1], "a sender wakes one more");
    wake_up(&sleep, 0, SleepRole::Ordinary);
    sleep.notify_pushed(&wake_token);
    assert_eq!(woken(&sleep), [1], "a worker searches");
    assert_eq!((sleep.snapshot().searching(), sleep.snapshot().asleep()), (1, 2));
    sleep.end_search(&wake_token, || false);
    assert_eq!(woken(&sleep), [1], "no task is left");
    sleep.begin_search();
    sleep.end_search(&wake_token, || true);
    assert_eq!(woken(&sleep), [1, 2], "the last thief wakes a successor");
}

#[test]
fn a_push_reads_only_whether_a_thief_is_needed() {
    let sleep = unlimited(3);
    assert!(!needs_thief(&sleep), "no worker sleeps");
    put_to_sleep(&sleep, 0);
    assert!(needs_thief(&sleep));
    sleep.begin_search();
    assert!(!needs_thief(&sleep), "the first thief clears it");
    sleep.begin_search();
    sleep.end_search(&token(), || panic!("another worker searches"));
    assert!(!needs_thief(&sleep));
    sleep.end_search(&token(), || false);
    assert!(needs_thief(&sleep), "the last thief sets it");
    wake_up(&sleep, 0, SleepRole::Ordinary);
    assert!(!needs_thief(&sleep), "it searches");
    sleep.end_search(&token(), || panic!("no worker sleeps"));
    assert!(!needs_thief(&sleep));
}

#[test]
fn a_push_needs_a_thief_only_if_the_limit_permits() {
    let sleep = limited(3, 2);
    let first = put_to_sleep(&sleep, 2);
    assert!(!needs_thief(&sleep), "two workers are active, and there is a monitor");
    let second = put_to_sleep(&sleep, 1);
    assert!(needs_thief(&sleep), "one worker is active");
    assert_eq!((first, second), (SleepRole::Monitor, SleepRole::Ordinary));
    wake_up(&sleep, 1, second);
    sleep.end_search(&token(), || panic!("at the limit"));
    assert!(!needs_thief(&sleep));
    sleep.set_limit(3);
    assert!(needs_thief(&sleep), "the limit is raised");
    sleep.set_limit(2);
    let third = put_to_sleep(&sleep, 1);
    wake_up(&sleep, 2, first);
    sleep.end_search(&token(), || false);
    assert!(needs_thief(&sleep), "there is no monitor");
    sleep.notify_pushed(&token());
    assert_eq!((third, woken(&sleep)), (SleepRole::Ordinary, vec![1]));
}

fn addressed(sleep: &Sleep, workers: Range<usize>, wake_token: Option<&WakeToken>) -> Vec<usize> {
    sleep.notify_addressed(&workers, wake_token);
    woken(sleep)
}

#[test]
fn a_task_addressed_to_several_workers_wakes_one_of_them_or_else_any() {
    let sleep = with_sleepers(unlimited(4), &[0, 2, 3]);
    for after in [&[2][..], &[2, 3], &[0, 2, 3]] {
        assert_eq!(addressed(&sleep, 1..4, None), after, "a notified one may be suspended");
    }
    let sleep = with_sleepers(unlimited(4), &[0, 3]);
    assert_eq!(addressed(&sleep, 1..3, None), [0], "none of them sleeps");
    let sleep = with_sleepers(unlimited(1), &[0]);
    assert_eq!(addressed(&sleep, 0..0, Some(&token())), [0], "a place without workers");
}

#[test]
fn a_worker_that_sends_leaves_the_task_to_an_addressed_worker_that_is_waking_up() {
    let sleep = with_sleepers(unlimited(6), &[1, 2, 3, 4, 5]);
    let wake_token = WakeToken::new(0..2);
    assert_eq!(addressed(&sleep, 3..4, Some(&wake_token)), [3]);
    assert_eq!(addressed(&sleep, 3..4, Some(&wake_token)), [3]);
    assert_eq!(addressed(&sleep, 0..1, Some(&wake_token)), [1, 3], "as for a push: a near one");
    assert_eq!(addressed(&sleep, 0..1, Some(&wake_token)), [1, 3], "it is under way");
    sleep.begin_search();
    assert_eq!(addressed(&sleep, 0..1, Some(&token())), [1, 3], "a worker searches");
    assert_eq!(addressed(&sleep, 4..6, Some(&token())), [1, 3, 4], "it leaves that task");
    assert_eq!(addressed(&sleep, 0..1, None), [1, 2, 3, 4], "a thread outside will not search");
}

#[test]
fn no_task_wakes_a_worker_over_the_limit() {
    let sleep = with_sleepers(limited(4, 2), &[3, 2]);
    let notify = [
        |sleep: &Sleep| sleep.notify_sent(),
        |sleep: &Sleep| sleep.notify_pushed(&token()),
        |sleep: &Sleep| sleep.notify_addressed(&(2..3), None),
        |sleep: &Sleep| sleep.notify_addressed(&(2..4), Some(&token())),
        |sleep: &Sleep| sleep.notify_addressed(&(0..1), None),
    ];
    notify.iter().for_each(|notify| notify(&sleep));
    assert!(woken(&sleep).is_empty(), "two workers are active, and there is a monitor");
    assert!(!sleep.is_over_limit());
    for (number, notify) in notify.iter().enumerate() {
        let sleep = with_sleepers(limited(4, 2), &[3, 2, 1]);
        notify(&sleep);
        assert_eq!(woken(&sleep).len(), 1, "one worker below the limit: {number}");
    }
}

#[test]
fn a_worker_is_over_the_limit_if_as_many_others_are_active() {
    let sleep = limited(4, 2);
    let is_over = |asleep: &[usize]| with_sleepers(limited(4, 2), asleep).is_over_limit();
    assert!(sleep.is_over_limit() && is_over(&[3]) && !is_over(&[3, 2]) && !is_over(&[3, 2, 1]));
    assert_eq!((sleep.active(), with_sleepers(limited(4, 2), &[3, 1]).active()), (4, 2));
}

#[test]
fn a_raised_limit_wakes_as_many_workers_as_are_missing() {
    let cases = [
        (&[4, 3, 2, 1][..], 2, &[1][..]),
        (&[4, 3, 2, 1], 3, &[1, 2]),
        (&[4, 3, 2, 1], 5, &[1, 2, 3, 4]),
        (&[4, 3], 3, &[]),
        (&[4, 3], 4, &[3]),
        (&[], 5, &[]),
    ];
    for (asleep, limit, after) in cases {
        let sleep = with_sleepers(limited(5, 1), asleep);
        sleep.set_limit(limit);
        assert_eq!((woken(&sleep).as_slice(), sleep.limit()), (after, limit), "{asleep:?}");
    }
    let sleep = with_sleepers(limited(5, 3), &[4, 3, 2]);
    sleep.set_limit(1);
    assert!(woken(&sleep).is_empty() && sleep.is_over_limit());
    sleep.set_limit(1);
    assert!(woken(&sleep).is_empty());
}

#[test]
fn neighbours_are_woken_first() {
    let sleep = with_sleepers(unlimited(6), &[0, 1, 3, 4]);
    for after in [&[3][..], &[3, 4], &[0, 3, 4], &[0, 1, 3, 4]] {
        sleep.notify_pushed(&WakeToken::new(3..6));
        assert_eq!(woken(&sleep), after);
    }
}

#[test]
fn a_named_sleeper_is_woken_unless_it_is_awake() {
    let sleep = with_sleepers(unlimited(3), &[1, 2]);
    assert!(!sleep.wake_sleeper(Slot::new(0)) && sleep.wake_sleeper(Slot::new(2)));
    assert_eq!(woken(&sleep), [2]);
}

#[test]
fn the_set_of_sleepers_spans_several_words() {
    let sleepers = Sleepers::new(130);
    for worker in [0, 63, 64, 129] {
        sleepers.insert(Slot::new(worker));
    }
    let members = || sleepers.iter().map(Slot::get).collect::<Vec<_>>();
    assert_eq!(members(), [0, 63, 64, 129]);
    assert!(sleepers.contains(Slot::new(64)) && !sleepers.contains(Slot::new(65)));
    sleepers.remove(Slot::new(64));
    assert_eq!(members(), [0, 63, 129]);
}

#[test]
fn a_worker_leaves_tasks_to_others_only_while_the_limit_is_reached() {
    use SleepRole::{Monitor, Ordinary, OverLimit};
    let roles = |limit| {
        let sleep = limited(4, limit);
        [1, 2, 3].map(|worker| put_to_sleep(&sleep, worker))
    };
    assert_eq!(roles(4), [Ordinary, Ordinary, Ordinary]);
    assert_eq!(roles(3), [Monitor, Ordinary, Ordinary]);
    assert_eq!(roles(2), [Monitor, OverLimit, Ordinary]);
    assert_eq!(roles(1), [Monitor, OverLimit, OverLimit]);
}

#[test]
fn the_next_worker_over_the_limit_is_the_monitor_after_the_monitor_woke_up() {
    let sleep = limited(3, 1);
    let monitor = put_to_sleep(&sleep, 2);
    let other = put_to_sleep(&sleep, 1);
    assert_eq!((monitor, other), (SleepRole::Monitor, SleepRole::OverLimit));
    wake_up(&sleep, 1, other);
    assert!(sleep.snapshot().has_monitor());
    assert_eq!(put_to_sleep(&sleep, 1), SleepRole::OverLimit);
    wake_up(&sleep, 2, monitor);
    assert!(!sleep.snapshot().has_monitor());
    assert_eq!(put_to_sleep(&sleep, 2), SleepRole::Monitor);
}

/// Runs a sleep that has to end, on a thread of its own. Returns how it ended, or wakes it.
fn sleep_alone(
    sleep: &Sleep,
    look_again: impl Fn(SleepRole) -> bool + Send,
    watch: impl FnMut() -> Watch + Send,
) -> Option<SleepOutcome> {
    let (ends, is_over) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            sleep.begin_search();
            ends.send(sleep.sleep(Slot::new(1), look_again, watch)).unwrap();
        });
        let outcome = is_over.recv_timeout(PATIENCE).ok();
        sleep.parkers[1].unpark();
        outcome
    })
}

#[test]
fn a_monitor_that_retires_looks_again() {
    let sleep = limited(2, 1);
    let outcome = sleep_alone(&sleep, |role| role == SleepRole::Ordinary, || Watch::Retire);
    assert!(outcome.is_some(), "it has seen a task");
    let now = sleep.snapshot();
    assert_eq!((now.asleep(), now.searching(), now.has_monitor()), (0, 1, false));
}

#[test]
fn a_monitor_watches_until_it_is_woken() {
    let (sleep, mut looks) = (limited(2, 1), 0);
    let watch = || {
        looks += 1;
        assert!(sleep.snapshot().has_monitor());
        if looks == 3 {
            sleep.wake_sleeper(Slot::new(1));
        }
        Watch::Continue
    };
    assert_eq!(sleep_alone(&sleep, |_| false, watch), Some(SleepOutcome::Woken));
    assert_eq!((looks, sleep.snapshot().has_monitor()), (3, false));
}

#[test]
fn a_monitor_wakes_up_by_itself() {
    let (sleep, mut looks) = (limited(2, 1), 0);
    let watch = || {
        looks += 1;
        if looks == 2 { Watch::Wake } else { Watch::Continue }
    };
    assert_eq!(sleep_alone(&sleep, |_| false, watch), Some(SleepOutcome::Woken));
    let now = sleep.snapshot();
    assert_eq!((looks, now.asleep(), now.searching(), now.has_monitor()), (2, 0, 1, false));
}

#[test]
fn a_monitor_that_has_retired_is_woken_as_others() {
    let (sleep, mut looks) = (limited(2, 1), 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !needs_thief(&sleep) {
                thread::yield_now();
            }
            assert!(!sleep.snapshot().has_monitor());
            sleep.notify_pushed(&token());
        });
        let watch = || {
            looks += 1;
            Watch::Retire
        };
        assert_eq!(sleep_alone(&sleep, |_| false, watch), Some(SleepOutcome::Woken));
    });
    assert_eq!(looks, 1);
}
