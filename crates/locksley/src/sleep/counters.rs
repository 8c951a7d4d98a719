//! The counters of the sleep protocol, packed into one atomic word.
//!
//! | bits  | field       | a worker changes it when it                                          |
//! |-------|-------------|----------------------------------------------------------------------|
//! | 0–15  | `asleep`    | falls asleep (+1), wakes up (−1)                                     |
//! | 16–31 | `searching` | begins to search or wakes up (+1), stops or falls asleep (−1)        |
//! | 32    | `sentinel`  | falls asleep as the sentinel (+1), wakes up from that (−1)           |
//! | 33–63 | `wakeups`   | wakes up (+1, wraps)                                                 |
//!
//! A worker, or the external thread that acts as it, changes the word only for itself. So a
//! suspended one leaves at most its own state behind.

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const FIELD: u64 = 0xFFFF;

const ONE_ASLEEP: u64 = 1;
const ONE_SEARCHING: u64 = 1 << 16;
const SENTINEL: u64 = 1 << 32;
const ONE_WAKEUP: u64 = 1 << 33;

/// The largest number of workers that a field can count. The value above it is unused, so that a
/// field that fell below 0 is noticed.
pub(crate) const MAX_WORKERS: usize = FIELD as usize - 1;

#[derive(Debug, Default)]
pub(super) struct Counters(CachePadded<AtomicU64>);

/// The counters at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Snapshot(u64);

impl Snapshot {
    pub(crate) fn asleep(self) -> usize {
        (self.0 & FIELD) as usize
    }

    pub(crate) fn searching(self) -> usize {
        (self.0 >> 16 & FIELD) as usize
    }

    /// The number of wake-ups so far, modulo 2³¹.
    pub(super) fn wakeups(self) -> u32 {
        (self.0 >> 33) as u32
    }

    pub(crate) fn has_sentinel(self) -> bool {
        self.0 & SENTINEL != 0
    }

    /// True if no worker searches and a sleeping worker must be woken for a push: any sleeper if
    /// there is no sentinel, otherwise only if more than `spare` workers sleep.
    ///
    /// One comparison decides: `searching` is 0 and `asleep` is greater than `spare`.
    #[inline]
    pub(super) fn needs_thief(self, spare: usize) -> bool {
        let spare = if self.has_sentinel() { spare as u32 } else { 0 };
        (self.0 as u32).wrapping_sub(spare + 1) < FIELD as u32 - spare
    }

    /// True if the limit with this `spare` is reached, and new tasks can be left to
    /// the sentinel: there is one, and at most `spare` workers sleep.
    pub(super) fn is_limit_reached(self, spare: usize) -> bool {
        self.has_sentinel() && self.asleep() <= spare
    }
}

/// Methods that change the counters return them as they are after the change.
impl Counters {
    /// The counters now. Protocol decisions need a fence before this load (see the README).
    #[inline]
    pub(super) fn snapshot(&self) -> Snapshot {
        // Acquire pairs with the release in `change`: a worker that is counted as asleep is found
        // in the set of sleepers.
        Snapshot(self.0.load(Ordering::Acquire))
    }

    pub(super) fn begin_search(&self) {
        let _ = self.change(ONE_SEARCHING, 0);
    }

    pub(super) fn end_search(&self) -> Snapshot {
        self.change(0, ONE_SEARCHING)
    }

    pub(super) fn begin_sleep(&self) -> Snapshot {
        self.change(ONE_ASLEEP, ONE_SEARCHING)
    }

    pub(super) fn end_sleep(&self, is_sentinel: bool) {
        let sentinel = if is_sentinel { SENTINEL } else { 0 };
        let _ = self.change(ONE_WAKEUP + ONE_SEARCHING, sentinel + ONE_ASLEEP);
    }

    /// As [`end_sleep`](Self::end_sleep), if more than `spare` workers sleep. Returns true if so.
    pub(super) fn end_sleep_above(&self, spare: usize) -> bool {
        self.change_if(ONE_WAKEUP + ONE_SEARCHING - ONE_ASLEEP, |now| now.asleep() > spare)
    }

    /// Counts the calling worker as asleep and as the sentinel, if there is no sentinel and at most
    /// `spare` workers sleep afterwards. Returns true if it did so.
    pub(super) fn begin_sleep_as_sentinel(&self, spare: usize) -> bool {
        let change = SENTINEL + ONE_ASLEEP - ONE_SEARCHING;
        self.change_if(change, |now| !now.has_sentinel() && now.asleep() < spare)
    }

    fn change_if(&self, change: u64, may_change: impl Fn(Snapshot) -> bool) -> bool {
        let after = |before| may_change(Snapshot(before)).then(|| before.wrapping_add(change));
        // As in `change` and `snapshot`.
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, after).is_ok()
    }

    /// Writes the word without changing it: a point in its modification order that releases what
    /// came before to all later changes, and acquires all earlier ones.
    pub(super) fn synchronize(&self) {
        let _ = self.change(0, 0);
    }

    fn change(&self, add: u64, subtract: u64) -> Snapshot {
        let change = add.wrapping_sub(subtract);
        let before = self.0.fetch_add(change, Ordering::AcqRel);
        let after = Snapshot(before.wrapping_add(change));
        debug_assert!(after.asleep() + after.searching() <= MAX_WORKERS, "it is {after:?}");
        after
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_decides_as_its_counts_say() {
        let counts = || [0, 1, 2, 3, MAX_WORKERS as u64];
        for (searching, asleep) in counts().into_iter().flat_map(|n| counts().map(|m| (n, m))) {
            for (sentinel, spare) in [0, 1].into_iter().flat_map(|n| counts().map(|m| (n, m))) {
                let word = asleep + ONE_SEARCHING * searching + SENTINEL * sentinel + ONE_WAKEUP;
                let (now, spare) = (Snapshot(word), spare as usize);
                assert_eq!((now.asleep(), now.searching()), (asleep as usize, searching as usize));
                assert_eq!((now.has_sentinel(), now.wakeups()), (sentinel == 1, 1));
                let can_stay_asleep = if now.has_sentinel() { spare } else { 0 };
                let needs_thief = searching == 0 && now.asleep() > can_stay_asleep;
                assert_eq!(now.needs_thief(spare), needs_thief, "{now:?} {spare}");
                let is_limit_reached = now.has_sentinel() && now.asleep() <= spare;
                assert_eq!(now.is_limit_reached(spare), is_limit_reached, "{now:?} {spare}");
            }
        }
    }
}
