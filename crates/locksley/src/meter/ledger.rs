//! Where a worker's time goes.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use super::clock::monotonic;
use super::counters::Count;

/// What a worker does, since when, and how long it has done what before. Written by the worker alone.
#[derive(Debug)]
pub(crate) struct Ledger {
    activity: AtomicU8,
    /// In nanoseconds.
    since: AtomicI64,
    spent: [Count; ACTIVITIES.len()],
}

/// How long a worker has done what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) working: Duration,
    pub(crate) hunting: Duration,
    pub(crate) sleeping: Duration,
}

/// What a worker does. The first numbers are those of [`Activity`](crate::hunt::Activity).
const ACTIVITIES: [u8; 4] = [WORKS, HUNTS, SLEEPS, ELSEWHERE];
const WORKS: u8 = 0;
const HUNTS: u8 = 1;
const SLEEPS: u8 = 2;
/// A thread that joined the pool is about something of its own.
const ELSEWHERE: u8 = 3;

/// It has not begun.
const NOT_YET: i64 = -1;

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            activity: AtomicU8::new(WORKS),
            since: AtomicI64::new(NOT_YET),
            spent: Default::default(),
        }
    }

    /// The worker's time begins.
    pub(crate) fn begin(&self) {
        if self.since.load(Ordering::Relaxed) == NOT_YET {
            self.since.store(monotonic(), Ordering::Relaxed);
        }
    }

    /// The worker's time is over.
    pub(crate) fn end(&self) {
        let before = self.activity.load(Ordering::Relaxed);
        self.turn(before, WORKS);
        self.since.store(NOT_YET, Ordering::Relaxed);
    }

    /// The worker does something else from now on.
    pub(crate) fn turn_to(&self, activity: u8) {
        let before = self.activity.load(Ordering::Relaxed);
        if before != activity {
            self.turn(before, activity);
        }
    }

    /// The worker does something from now on that is none of the pool's.
    pub(crate) fn turn_away(&self) {
        self.turn_to(ELSEWHERE);
    }

    /// Whether it does.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.activity.load(Ordering::Relaxed) == ELSEWHERE
    }

    /// As [`turn_to`](Self::turn_to); and that is what it has done since the last turn, too.
    pub(crate) fn turn_back_to(&self, activity: u8) {
        self.turn(activity, activity);
    }

    fn turn(&self, before: u8, activity: u8) {
        let (now, since) = (monotonic(), self.since.load(Ordering::Relaxed));
        if since == NOT_YET {
            return self.activity.store(activity, Ordering::Relaxed);
        }
        // In this order, so that who reads meanwhile counts little twice, and nothing for long.
        self.since.store(now, Ordering::Relaxed);
        self.activity.store(activity, Ordering::Relaxed);
        self.spent[usize::from(before)].add((now - since).max(0) as u64);
    }

    /// To this moment. Read while the worker turns to something else, a part of what came before may be missing.
    pub(crate) fn read(&self) -> Spent {
        let mut nanos = ACTIVITIES.map(|activity| self.spent[usize::from(activity)].read());
        let activity = usize::from(self.activity.load(Ordering::Relaxed));
        let since = self.since.load(Ordering::Relaxed);
        if since != NOT_YET {
            nanos[activity] += (monotonic() - since).max(0) as u64;
        }
        let [working, hunting, sleeping, _] = nanos.map(Duration::from_nanos);
        Spent { working, hunting, sleeping }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_time_is_somewhere() {
        let ledger = Ledger::new();
        assert_eq!(ledger.read(), Spent::default());
        let before = monotonic();
        ledger.begin();
        let begun = monotonic();
        let turns = [HUNTS, SLEEPS, HUNTS, WORKS];
        for turn in turns {
            std::thread::sleep(Duration::from_millis(2));
            ledger.turn_to(turn);
        }
        let least = monotonic() - begun;
        let spent = ledger.read();
        let most = monotonic() - before;
        let sum = (spent.working + spent.hunting + spent.sleeping).as_nanos() as i64;
        assert!((least..=most).contains(&sum), "{least} <= {sum} <= {most}");
        for (part, turns) in [(spent.working, 1), (spent.hunting, 2), (spent.sleeping, 1)] {
            assert!(part >= turns * Duration::from_millis(2), "{spent:?}");
        }
    }

    #[test]
    fn who_did_not_sleep_has_hunted() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.turn_to(SLEEPS);
        std::thread::sleep(Duration::from_millis(2));
        ledger.turn_back_to(HUNTS);
        assert_eq!(ledger.read().sleeping, Duration::ZERO);
        assert!(ledger.read().hunting >= Duration::from_millis(2));
    }

    #[test]
    fn what_is_none_of_the_pools_is_not_counted() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.turn_away();
        let spent = ledger.read();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(ledger.read(), spent);
        ledger.turn_to(HUNTS);
        std::thread::sleep(Duration::from_millis(2));
        assert!(ledger.read().hunting >= Duration::from_millis(2));
        assert_eq!(ledger.read().working, spent.working);
    }

    /// What goes on is counted, too.
    #[test]
    fn a_sleeper_is_seen_to_sleep() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.turn_to(SLEEPS);
        std::thread::sleep(Duration::from_millis(2));
        assert!(ledger.read().sleeping >= Duration::from_millis(2));
    }
}
