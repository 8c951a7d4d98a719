//! The counters of the sleep protocol, packed into one atomic word, and the set of sleepers.
//!
//! | bits  | field       | a worker changes it when it                                          |
//! |-------|-------------|----------------------------------------------------------------------|
//! | 0–15  | `asleep`    | falls asleep (+1), wakes up (−1)                                     |
//! | 16–31 | `searching` | begins to search or wakes up (+1), stops or falls asleep (−1)        |
//! | 32    | `monitor`   | falls asleep as the monitor (+1), wakes up from that or retires (−1) |
//! | 33–63 | `wakeups`   | wakes up (+1, wraps)                                                 |
//!
//! A worker changes the word only for itself. So a suspended one leaves at most its own state
//! behind.

use crate::numbers::Slot;
use crate::primitive::{AtomicU64, CachePadded, Ordering};

const FIELD: u64 = 0xFFFF;

const ONE_ASLEEP: u64 = 1;
const ONE_SEARCHING: u64 = 1 << 16;
const MONITOR: u64 = 1 << 32;
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

    pub(crate) fn has_monitor(self) -> bool {
        self.0 & MONITOR != 0
    }

    /// True if a sleeper may be woken for a task: more than `spare` workers sleep; or, if there is
    /// no monitor, any.
    pub(super) fn may_wake(self, spare: usize) -> bool {
        self.asleep() > if self.has_monitor() { spare } else { 0 }
    }

    /// True if a push must wake a sleeper: it may, and no worker searches.
    pub(super) fn needs_thief(self, spare: usize) -> bool {
        self.searching() == 0 && self.may_wake(spare)
    }
}

/// Methods that change the counters return them as they are after the change.
impl Counters {
    /// The counters now. Protocol decisions need a fence before this load (see the README).
    pub(super) fn snapshot(&self) -> Snapshot {
        // Acquire pairs with the release in `change`: a worker that is counted as asleep is found
        // in the set of sleepers.
        Snapshot(self.0.load(Ordering::Acquire))
    }

    pub(super) fn begin_search(&self) -> Snapshot {
        self.change(ONE_SEARCHING, 0)
    }

    pub(super) fn end_search(&self) -> Snapshot {
        self.change(0, ONE_SEARCHING)
    }

    pub(super) fn begin_sleep(&self) -> Snapshot {
        self.change(ONE_ASLEEP, ONE_SEARCHING)
    }

    pub(super) fn end_sleep(&self, is_monitor: bool) -> Snapshot {
        let monitor = if is_monitor { MONITOR } else { 0 };
        self.change(ONE_WAKEUP + ONE_SEARCHING, monitor + ONE_ASLEEP)
    }

    /// Counts the calling worker as asleep and as the monitor, if there is no monitor and at most
    /// `spare` workers sleep afterwards.
    pub(super) fn begin_sleep_as_monitor(&self, spare: usize) -> Option<Snapshot> {
        let change = MONITOR + ONE_ASLEEP - ONE_SEARCHING;
        let after = |before| {
            let may_change = !Snapshot(before).has_monitor() && Snapshot(before).asleep() < spare;
            may_change.then(|| before.wrapping_add(change))
        };
        // As in `change` and `snapshot`.
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, after).ok()?;
        Some(Snapshot(before.wrapping_add(change)))
    }

    /// The calling worker, which sleeps, is not the monitor any more.
    pub(super) fn retire_monitor(&self) -> Snapshot {
        self.change(0, MONITOR)
    }

    /// Writes the word without changing it: a point in its modification order that releases what
    /// came before to all later changes, and acquires all earlier ones.
    pub(super) fn synchronize(&self) -> Snapshot {
        self.change(0, 0)
    }

    fn change(&self, add: u64, subtract: u64) -> Snapshot {
        let change = add.wrapping_sub(subtract);
        let before = self.0.fetch_add(change, Ordering::AcqRel);
        let after = Snapshot(before.wrapping_add(change));
        debug_assert!(after.asleep() + after.searching() <= MAX_WORKERS, "it is {after:?}");
        after
    }
}

/// The set of workers that sleep or are about to, one bit for each slot. Only the worker sets and
/// clears it, so a suspended waker removes no worker from the set.
#[derive(Debug)]
pub(super) struct Sleepers(Box<[CachePadded<AtomicU64>]>);

impl Sleepers {
    pub(super) fn new(slots: usize) -> Self {
        Self((0..slots.div_ceil(64)).map(|_| CachePadded::new(AtomicU64::new(0))).collect())
    }

    pub(super) fn insert(&self, slot: Slot) {
        self.0[slot.get() / 64].fetch_or(1 << (slot.get() % 64), Ordering::AcqRel);
    }

    pub(super) fn remove(&self, slot: Slot) {
        self.0[slot.get() / 64].fetch_and(!(1 << (slot.get() % 64)), Ordering::AcqRel);
    }

    pub(super) fn contains(&self, slot: Slot) -> bool {
        self.0[slot.get() / 64].load(Ordering::Acquire) >> (slot.get() % 64) & 1 == 1
    }

    /// The members in ascending order, so that a pool which needs few workers keeps using the same
    /// ones.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut bits = word.load(Ordering::Acquire);
            std::iter::from_fn(move || {
                let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(Slot::new(index * 64 + lowest))
            })
        })
    }
}
