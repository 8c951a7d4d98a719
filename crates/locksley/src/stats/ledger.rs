//! Where a worker's time goes: working, searching, sleeping.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::counters::Count;

/// What a worker does, since when, and for how long it did what before. The worker alone writes it.
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
    pub(crate) searching: Duration,
    pub(crate) sleeping: Duration,
}

/// What a worker does. The first numbers are those of [`Activity`](crate::idle::Activity).
const ACTIVITIES: [u8; 4] = [WORKING, SEARCHING, SLEEPING, ELSEWHERE];
const WORKING: u8 = 0;
const SEARCHING: u8 = 1;
const SLEEPING: u8 = 2;
/// A borrowed thread runs code that is not the pool's.
const ELSEWHERE: u8 = 3;

/// The worker has not begun.
const NOT_YET: i64 = -1;

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            activity: AtomicU8::new(WORKING),
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
        self.turn(before, WORKING);
        self.since.store(NOT_YET, Ordering::Relaxed);
    }

    /// The worker does something else from now on.
    pub(crate) fn turn_to(&self, activity: u8) {
        let before = self.activity.load(Ordering::Relaxed);
        if before != activity {
            self.turn(before, activity);
        }
    }

    /// The worker's thread runs code that is not the pool's from now on.
    pub(crate) fn turn_away(&self) {
        self.turn_to(ELSEWHERE);
    }

    /// Whether the worker's thread runs code that is not the pool's.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.activity.load(Ordering::Relaxed) == ELSEWHERE
    }

    /// As [`turn_to`](Self::turn_to); the time since the last turn counts as this activity, too.
    pub(crate) fn turn_back_to(&self, activity: u8) {
        self.turn(activity, activity);
    }

    fn turn(&self, before: u8, activity: u8) {
        let (now, since) = (monotonic(), self.since.load(Ordering::Relaxed));
        if since == NOT_YET {
            return self.activity.store(activity, Ordering::Relaxed);
        }
        // In this order, so that a concurrent reader counts little twice, and nothing for long.
        self.since.store(now, Ordering::Relaxed);
        self.activity.store(activity, Ordering::Relaxed);
        self.spent[usize::from(before)].add((now - since).max(0) as u64);
    }

    /// Up to this moment. A read during a [turn](Self::turn_to) may miss a part of the time before.
    pub(crate) fn read(&self) -> Spent {
        let mut nanos = ACTIVITIES.map(|activity| self.spent[usize::from(activity)].read());
        let activity = usize::from(self.activity.load(Ordering::Relaxed));
        let since = self.since.load(Ordering::Relaxed);
        if since != NOT_YET {
            nanos[activity] += (monotonic() - since).max(0) as u64;
        }
        let [working, searching, sleeping, _] = nanos.map(Duration::from_nanos);
        Spent { working, searching, sleeping }
    }
}

/// Nanoseconds since the first call.
fn monotonic() -> i64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as i64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BIT: Duration = Duration::from_millis(2);

    #[test]
    fn all_time_is_in_one_activity() {
        let ledger = Ledger::new();
        assert_eq!(ledger.read(), Spent::default());
        let before = monotonic();
        ledger.begin();
        let begun = monotonic();
        for activity in [SEARCHING, SLEEPING, SEARCHING, WORKING] {
            std::thread::sleep(BIT);
            ledger.turn_to(activity);
        }
        let least = monotonic() - begun;
        let spent = ledger.read();
        let most = monotonic() - before;
        let sum = (spent.working + spent.searching + spent.sleeping).as_nanos() as i64;
        assert!((least..=most).contains(&sum), "{least} <= {sum} <= {most}");
        for (part, turns) in [(spent.working, 1), (spent.searching, 2), (spent.sleeping, 1)] {
            assert!(part >= turns * BIT, "{spent:?}");
        }
    }

    #[test]
    fn a_worker_that_did_not_sleep_has_searched() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.turn_to(SLEEPING);
        std::thread::sleep(BIT);
        ledger.turn_back_to(SEARCHING);
        assert_eq!(ledger.read().sleeping, Duration::ZERO);
        assert!(ledger.read().searching >= BIT);
    }

    #[test]
    fn time_elsewhere_is_not_counted() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.turn_away();
        let spent = ledger.read();
        std::thread::sleep(BIT);
        assert_eq!(ledger.read(), spent);
        ledger.turn_to(SEARCHING);
        std::thread::sleep(BIT);
        assert!(ledger.read().searching >= BIT);
        assert_eq!(ledger.read().working, spent.working);
    }

    #[test]
    fn the_present_activity_counts_up_to_now() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.turn_to(SLEEPING);
        std::thread::sleep(BIT);
        assert!(ledger.read().sleeping >= BIT);
    }
}
