//! The stall harness for the sleep protocol, and its counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::{Limit, Rest, Sleep, WakeToken};
use crate::primitive::stepped::{self, Gate};

const SOON: Duration = Duration::from_secs(20);

/// Workers that take tasks, each a word, and sleep when there is none.
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

    fn is_something_there(&self) -> bool {
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
                self.sleep.sleep(worker, |_| self.is_something_there());
            };
            self.sleep.end_search(&wake_token, || self.is_something_there());
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
        self.sleep.wake_all();
    }

    fn wait_until_asleep(&self, workers: usize) {
        while self.sleep.snapshot().asleep() < workers {
            thread::yield_now();
        }
    }
}

#[test]
fn a_held_sender_leaves_the_only_sleeper_to_be_woken_by_the_next() {
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
            // The second task is done, and the first as well: it was there before its sender began
            // to wake.
            let done = (reports.recv_timeout(SOON), reports.recv_timeout(SOON));
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
fn a_held_sleeper_leaves_the_work_to_another() {
    for steps in 0.. {
        let crew = Crew::new(2);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            let also_report = report.clone();
            scope.spawn(|| crew.serve(0, move || also_report.send(()).unwrap()));
            crew.wait_until_asleep(1);
            // This one goes to sleep, is woken, takes a task, and is held somewhere on the way.
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                crew.serve(1, move || report.send(()).unwrap());
                stepped::disarm();
            });
            // It may also block before it comes so far: then the tasks below bring it on.
            thread::sleep(Duration::from_millis(2));
            for _ in 0..4 {
                crew.send();
            }
            // The held worker may have one of them in hand.
            let done = (0..3).filter(|_| reports.recv_timeout(SOON).is_ok()).count();
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
fn a_held_thief_that_wakes_its_successor_can_be_replaced() {
    for steps in 0.. {
        let crew = Crew::new(2);
        let (report, reports) = channel();
        let gate = Arc::new(Gate::default());
        let held = thread::scope(|scope| {
            scope.spawn(|| crew.serve(0, move || report.send(()).unwrap()));
            crew.wait_until_asleep(1);
            // The last thief leaves while there is work.
            scope.spawn(|| {
                crew.sleep.begin_search();
                stepped::arm(steps, &gate);
                crew.tasks.fetch_add(1, Ordering::AcqRel);
                crew.sleep.end_search(&WakeToken::default(), || true);
                stepped::disarm();
            });
            let held = gate.wait_until_held();
            crew.send();
            let done = (reports.recv_timeout(SOON), reports.recv_timeout(SOON));
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
fn a_worker_asks_once_until_somebody_has_got_up() {
    let sleep = Sleep::new(3, Limit::NONE);
    for worker in 0..3 {
        sleep.begin_search();
        // Announce by hand what `sleep` does before it blocks.
        sleep.sleepers.enter(worker);
        let _ = sleep.counters.falls_asleep();
    }
    let rung = || (0..3).filter(|&worker| sleep.parkers[worker].is_rung()).collect::<Vec<_>>();
    let wake_token = WakeToken::default();
    sleep.notify_pushed(&wake_token);
    assert_eq!(rung(), [0]);
    sleep.notify_pushed(&wake_token);
    assert_eq!(rung(), [0], "the wake token is under way");
    sleep.notify_sent();
    assert_eq!(rung(), [0, 1], "a sender from outside wakes one more");
    let _ = sleep.counters.end_sleep();
    sleep.sleepers.leave(0);
    sleep.notify_pushed(&wake_token);
    assert_eq!(rung(), [0, 1], "a worker searches");
    assert_eq!((sleep.snapshot().searching(), sleep.snapshot().asleep()), (1, 2));
    sleep.end_search(&wake_token, || true);
    assert_eq!(rung(), [0, 1, 2], "the last thief to leave finds a successor");
}

#[test]
fn what_is_addressed_to_one_who_does_not_get_up_wakes_another() {
    let sleep = Sleep::new(3, Limit::NONE);
    for worker in 0..3 {
        sleep.begin_search();
        sleep.sleepers.enter(worker);
        let _ = sleep.counters.falls_asleep();
    }
    let rung = || (0..3).filter(|&worker| sleep.parkers[worker].is_rung()).collect::<Vec<_>>();
    sleep.notify_addressed(1, None);
    assert_eq!(rung(), [1]);
    sleep.notify_addressed(1, None);
    assert_eq!(rung(), [0, 1], "it may be suspended before it gets up");
    sleep.notify_addressed(1, Some(&WakeToken::default()));
    assert_eq!(rung(), [0, 1, 2], "and none searches yet");
}

#[test]
fn what_is_addressed_to_several_wakes_one_of_them_and_then_anybody() {
    let sleep = Sleep::new(4, Limit::NONE);
    for worker in [0, 2, 3] {
        sleep.begin_search();
        sleep.sleepers.enter(worker);
        let _ = sleep.counters.falls_asleep();
    }
    let rung = || (0..4).filter(|&worker| sleep.parkers[worker].is_rung()).collect::<Vec<_>>();
    for after in [&[2][..], &[2, 3], &[0, 2, 3]] {
        sleep.notify_addressed_to_some(1..4, None);
        assert_eq!(rung(), after);
    }
    let sleep = Sleep::new(1, Limit::NONE);
    sleep.begin_search();
    sleep.sleepers.enter(0);
    let _ = sleep.counters.falls_asleep();
    sleep.notify_addressed_to_some(0..0, Some(&WakeToken::default()));
    assert!(sleep.parkers[0].is_rung(), "none is there");
}

/// So many workers, of which these sleep: what `sleep` does before it blocks, by hand.
fn with_sleepers(workers: usize, limit: Limit, asleep: &[usize]) -> Sleep {
    let sleep = Sleep::new(workers, limit);
    for &worker in asleep {
        sleep.begin_search();
        sleep.sleepers.enter(worker);
        let _ = sleep.falls_asleep();
    }
    sleep
}

fn rung(sleep: &Sleep) -> Vec<usize> {
    (0..sleep.parkers.len()).filter(|&worker| sleep.parkers[worker].is_rung()).collect()
}

#[test]
fn a_worker_that_sends_to_several_leaves_it_to_one_who_is_on_its_way_up() {
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    let wake_token = WakeToken::with_neighbours(0..2);
    for after in [&[3][..], &[3, 4], &[3, 4], &[3, 4]] {
        // The second is as if it were pushed: none searches yet.
        sleep.notify_addressed_to_some(3..6, Some(&wake_token));
        assert_eq!(rung(&sleep), after);
    }
    sleep.begin_search();
    sleep.notify_addressed_to_some(1..3, Some(&wake_token));
    assert_eq!(rung(&sleep), [1, 3, 4], "those that search leave it to these");
    sleep.notify_addressed_to_some(1..3, Some(&wake_token));
    assert_eq!(rung(&sleep), [1, 3, 4], "one is on its way up");
    sleep.notify_addressed_to_some(1..3, None);
    assert_eq!(rung(&sleep), [1, 2, 3, 4], "a thread that is no worker will not search");
}

#[test]
fn a_worker_that_sends_to_several_wakes_nobody_over_the_limit_if_one_of_them_is_awake() {
    let limit = Limit { awake: 2, timed_park: SOON };
    let sleep = with_sleepers(4, limit, &[1, 3]);
    sleep.notify_addressed_to_some(2..4, Some(&WakeToken::default()));
    assert!(rung(&sleep).is_empty());
    sleep.notify_addressed_to_some(2..4, None);
    assert_eq!(rung(&sleep), [3]);
    let sleep = with_sleepers(4, limit, &[2, 3]);
    sleep.notify_addressed_to_some(2..4, Some(&WakeToken::default()));
    assert_eq!(rung(&sleep), [2], "none of them is awake");
    let sleep = with_sleepers(4, limit, &[1, 2, 3]);
    sleep.notify_addressed_to_some(0..2, Some(&WakeToken::default()));
    assert_eq!(rung(&sleep), [1], "the limit is not made up");
}

#[test]
fn what_is_addressed_wakes_nobody_beyond_what_is_allowed() {
    let sleep = Sleep::new(4, Limit { awake: 2, timed_park: SOON }).allowing(2);
    let falls_asleep = |worker| {
        sleep.begin_search();
        sleep.sleepers.enter(worker);
        let _ = sleep.falls_asleep();
    };
    falls_asleep(3);
    falls_asleep(2);
    for wake_token in [None, Some(&WakeToken::default())] {
        sleep.notify_addressed(2, wake_token);
        sleep.notify_addressed_to_some(2..4, wake_token);
        sleep.notify_addressed_to_bound(2..4, wake_token);
        assert!(rung(&sleep).is_empty(), "two are awake, and there is a sentinel");
        assert!(sleep.leaves_what_is_sent());
    }
    falls_asleep(1);
    assert!(!sleep.leaves_what_is_sent());
    sleep.notify_addressed(2, None);
    assert_eq!(rung(&sleep), [2], "one of those that are allowed is missing");
}

#[test]
fn what_is_sent_wakes_one_beyond_what_is_allowed_where_one_more_is_welcome() {
    let sleep = Sleep::new(4, Limit { awake: 2, timed_park: SOON }).allowing(2);
    let falls_asleep = |worker| {
        sleep.begin_search();
        sleep.sleepers.enter(worker);
        let _ = sleep.falls_asleep();
    };
    falls_asleep(3);
    falls_asleep(2);
    sleep.notify_sent();
    assert!(rung(&sleep).is_empty() && sleep.leaves_what_is_sent());
    sleep.welcomes_one_more(true);
    assert!(!sleep.leaves_what_is_sent() && !sleep.leaves_the_inbox());
    sleep.notify_sent();
    assert_eq!(rung(&sleep).len(), 1);
    sleep.welcomes_one_more(false);
    assert!(sleep.leaves_what_is_sent());
}

#[test]
fn at_the_end_of_a_rest_as_many_are_woken_as_are_missing() {
    let limit = |awake| Limit { awake, timed_park: SOON };
    for (asleep, after) in [(&[1, 2, 3, 4][..], &[1][..]), (&[2, 3, 4], &[]), (&[3, 4], &[])] {
        let sleep = Sleep::new(5, limit(2)).allowing(2);
        sleep.limit_to(limit(1), 2);
        for &worker in asleep {
            sleep.begin_search();
            sleep.sleepers.enter(worker);
            let _ = sleep.falls_asleep();
        }
        sleep.limit_to(limit(2), 2);
        assert_eq!(rung(&sleep), after);
        sleep.limit_to(limit(3), 3);
        assert_eq!(rung(&sleep), asleep, "more are allowed: all look again");
    }
}

#[test]
fn where_those_of_a_place_are_bound_one_elsewhere_is_woken_too_if_nobody_searches() {
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    let wake_token = WakeToken::default();
    for _ in 0..3 {
        sleep.notify_addressed_to_bound(3..6, Some(&wake_token));
        assert_eq!(rung(&sleep), [1, 3], "they are on their way up");
    }
    sleep.notify_addressed_to_bound(3..6, None);
    assert_eq!(rung(&sleep), [1, 2, 3, 4], "a thread that is no worker will not search");
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    sleep.begin_search();
    sleep.notify_addressed_to_bound(3..6, None);
    assert_eq!(rung(&sleep), [3], "a worker searches");
    // One of the place was woken, and may wait for a processor that others have.
    for wake_token in [Some(&WakeToken::default()), None] {
        let sleep = with_sleepers(4, Limit::NONE, &[1, 2, 3]);
        sleep.wake(3);
        sleep.notify_addressed_to_bound(3..4, wake_token);
        assert_eq!(rung(&sleep), [1, 3], "one elsewhere, and not two");
    }
    let sleep = with_sleepers(6, Limit::NONE, &[1, 2, 3, 4, 5]);
    sleep.wake(3);
    sleep.notify_addressed_to_bound(3..6, Some(&WakeToken::default()));
    assert_eq!(rung(&sleep), [1, 3], "it is not spent on another one of the place");
    let sleep = with_sleepers(4, Limit { awake: 2, timed_park: SOON }, &[2, 3]);
    sleep.notify_addressed_to_bound(0..2, None);
    assert_eq!(
        rung(&sleep),
        [2],
        "the limit is made up, which a sender from outside is not held to"
    );
}

#[test]
fn one_of_some_is_woken_who_was_not_woken_before() {
    let sleep = with_sleepers(6, Limit::NONE, &[0, 3, 5]);
    for after in [&[3][..], &[3, 5], &[3, 5]] {
        sleep.wake_one_of(&(2..6));
        assert_eq!(rung(&sleep), after);
    }
    sleep.wake_one_of(&(1..2));
    assert_eq!(rung(&sleep), [3, 5], "that one is awake");
}

#[test]
fn who_passes_for_another_wakes_the_neighbours_of_that_one() {
    let sleep = with_sleepers(6, Limit::NONE, &[0, 1, 3, 4]);
    let wake_token = WakeToken::with_neighbours(0..3);
    wake_token.has_neighbours(3..6);
    sleep.notify_pushed(&wake_token);
    assert_eq!(rung(&sleep), [3]);
}

#[test]
fn neighbours_are_woken_first() {
    let sleep = with_sleepers(6, Limit::NONE, &[0, 1, 3, 4]);
    for after in [&[3][..], &[3, 4], &[0, 3, 4], &[0, 1, 3, 4]] {
        sleep.notify_pushed(&WakeToken::with_neighbours(3..6));
        assert_eq!(rung(&sleep), after);
    }
}

#[test]
fn sleepers_beyond_one_word_are_found() {
    let sleepers = super::sleepers::Sleepers::new(130);
    for worker in [0, 63, 64, 129] {
        sleepers.enter(worker);
    }
    assert_eq!(sleepers.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
    assert!(sleepers.contains(64) && !sleepers.contains(65));
    sleepers.leave(64);
    assert_eq!(sleepers.iter().collect::<Vec<_>>(), [0, 63, 129]);
}

#[test]
fn pushes_are_left_to_a_sentinel_only_while_the_limit_is_made_up() {
    let rests = |awake| {
        let sleep = Sleep::new(4, Limit { awake, timed_park: SOON });
        [1, 2, 3].map(|_| {
            sleep.begin_search();
            sleep.falls_asleep()
        })
    };
    assert_eq!(rests(4), [Rest::Full, Rest::Full, Rest::Full]);
    assert_eq!(rests(3), [Rest::AsSentinel, Rest::Full, Rest::Full]);
    assert_eq!(rests(2), [Rest::AsSentinel, Rest::Relieved, Rest::Full]);
    assert_eq!(rests(1), [Rest::AsSentinel, Rest::Relieved, Rest::Relieved]);
}

/// A worker that timed parks on as the sentinel when the others sleep need not be woken for that when they
/// are awake again.
#[test]
fn a_sentinel_in_reserve_is_there_when_the_limit_is_made_up_again() {
    let sleep = Sleep::new(3, Limit { awake: 2, timed_park: SOON });
    let lacks_a_thief = || sleep.snapshot().lacks_a_thief(sleep.spare());
    (0..3).for_each(|_| sleep.begin_search());
    let rests = [Sleep::falls_asleep, Sleep::falls_asleep, Sleep::park_in_reserve];
    // The first has got up again.
    assert_eq!(rests[0](&sleep), Rest::AsSentinel);
    let _ = sleep.counters.unpark_sentinel();
    assert_eq!(rests[2](&sleep), Rest::AsSentinel, "as any, if it is over the limit");
    let _ = sleep.counters.unpark_sentinel();
    let _ = (sleep.counters.falls_asleep(), sleep.counters.falls_asleep());
    assert_eq!(rests[2](&sleep), Rest::InReserve);
    for _ in 0..2 {
        assert!(lacks_a_thief(), "more sleep than the spare one");
        let _ = sleep.counters.end_sleep();
        let _ = sleep.counters.end_search();
    }
    assert!(sleep.snapshot().has_sentinel() && !lacks_a_thief());
    // There is one: the next one sleeps as others do.
    sleep.begin_search();
    assert_eq!(rests[2](&sleep), Rest::Full);
    // Where there is no limit none is needed.
    let sleep = Sleep::new(1, Limit::NONE);
    sleep.begin_search();
    assert_eq!(rests[2](&sleep), Rest::Full);
}
