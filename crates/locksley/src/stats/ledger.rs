//! How much time a worker spends on each activity: working, searching, sleeping.

use std::time::Duration;

use super::counters::Count;
use crate::primitive::plain::{AtomicU8, AtomicU64};
use crate::primitive::{Instant, Ordering};

/// A worker's current activity, its begin, and the time of each activity before. Only the worker
/// writes it.
#[derive(Debug)]
pub(crate) struct Ledger {
    made: Instant,
    activity: AtomicU8,
    /// The begin of the activity, in nanoseconds after `made`.
    since: AtomicU64,
    spent: [Count; 4],
}

/// The number of [`Activity::Works`](crate::idle::Activity). Those of the others are 1 and 2.
const WORKING: u8 = 0;
/// The worker has not started or has ended, or its thread is borrowed and runs code outside of the
/// pool. This time is not reported.
pub(crate) const ELSEWHERE: u8 = 3;

impl Ledger {
    pub(crate) fn new() -> Self {
        let (since, spent) = Default::default();
        Self { made: Instant::now(), activity: AtomicU8::new(ELSEWHERE), since, spent }
    }

    /// Starts the worker's time.
    pub(crate) fn begin(&self) {
        if self.is_elsewhere() {
            self.switch_to(WORKING);
        }
    }

    /// Stops the worker's time.
    pub(crate) fn end(&self) {
        self.switch_to(ELSEWHERE);
    }

    /// Switches to another activity.
    pub(crate) fn switch_to(&self, activity: u8) {
        let before = self.activity.load(Ordering::Relaxed);
        if before != activity {
            self.switch(before, activity);
        }
    }

    /// True if the worker's time is not running.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.activity.load(Ordering::Relaxed) == ELSEWHERE
    }

    /// Switches to an activity, which also gets the time since the last switch.
    pub(crate) fn switch_back_to(&self, activity: u8) {
        self.switch(activity, activity);
    }

    fn switch(&self, before: u8, activity: u8) {
        let (now, since) = (self.now(), self.since.load(Ordering::Relaxed));
        // In this order a concurrent reader may miss the last interval. It never counts it twice.
        self.since.store(now, Ordering::Relaxed);
        self.activity.store(activity, Ordering::Relaxed);
        self.spent[usize::from(before)].add(now.saturating_sub(since));
    }

    /// The times of working, searching and sleeping up to now. A read during a
    /// [switch](Self::switch_to) may miss the last interval.
    pub(crate) fn read(&self) -> [Duration; 3] {
        let mut nanos = self.spent.each_ref().map(Count::read);
        let activity = usize::from(self.activity.load(Ordering::Relaxed));
        nanos[activity] += self.now().saturating_sub(self.since.load(Ordering::Relaxed));
        let [working, searching, sleeping, _] = nanos.map(Duration::from_nanos);
        [working, searching, sleeping]
    }

    /// Nanoseconds after `made`.
    fn now(&self) -> u64 {
        self.made.elapsed().as_nanos() as u64
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BIT: Duration = Duration::from_millis(2);
    const SEARCHING: u8 = 1;
    const SLEEPING: u8 = 2;

    #[test]
    fn each_moment_counts_for_one_activity() {
        let ledger = Ledger::new();
        assert_eq!(ledger.read(), [Duration::ZERO; 3]);
        let before = ledger.now();
        ledger.begin();
        let begun = ledger.now();
        for activity in [SEARCHING, SLEEPING, SEARCHING, WORKING] {
            std::thread::sleep(BIT);
            ledger.switch_to(activity);
        }
        let least = ledger.now() - begun;
        let spent = ledger.read();
        let most = ledger.now() - before;
        let sum = spent.iter().sum::<Duration>().as_nanos() as u64;
        assert!((least..=most).contains(&sum), "{least} <= {sum} <= {most}");
        for (part, switches) in spent.into_iter().zip([1, 2, 1]) {
            assert!(part >= switches * BIT, "{spent:?}");
        }
    }

    #[test]
    fn a_cancelled_sleep_counts_as_a_search() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.switch_to(SLEEPING);
        std::thread::sleep(BIT);
        ledger.switch_back_to(SEARCHING);
        assert_eq!(ledger.read()[2], Duration::ZERO);
        assert!(ledger.read()[1] >= BIT);
    }

    #[test]
    fn time_outside_of_the_pool_is_not_counted() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.switch_to(ELSEWHERE);
        let spent = ledger.read();
        std::thread::sleep(BIT);
        assert_eq!(ledger.read(), spent);
        ledger.switch_to(SEARCHING);
        std::thread::sleep(BIT);
        assert!(ledger.read()[1] >= BIT);
        assert_eq!(ledger.read()[0], spent[0]);
    }

    #[test]
    fn the_current_activity_counts_up_to_now() {
        let ledger = Ledger::new();
        ledger.begin();
        ledger.switch_to(SLEEPING);
        std::thread::sleep(BIT);
        assert!(ledger.read()[2] >= BIT);
    }
}
