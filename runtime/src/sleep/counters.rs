//! One word that says how many workers hunt, how many sleep, and how many times one has got up.
//!
//! | bits  | field     | changes when                                                     |
//! |-------|-----------|------------------------------------------------------------------|
//! | 0–15  | `asleep`  | a hunter announces that it sleeps (+1), gets up (−1)             |
//! | 16–31 | `hunting` | a worker begins to hunt (+1), stops or falls asleep (−1), gets up (+1) |
//! | 32–63 | `got_up`  | a sleeper gets up (+1, wraps)                                    |
//!
//! Each worker changes the word only for itself, so a worker that is suspended leaves at most its own state behind.

use std::fmt;

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const ONE_ASLEEP: u64 = 1;
const ONE_HUNTING: u64 = 1 << 16;
const ONE_GOT_UP: u64 = 1 << 32;
const FIELD: u64 = 0xFFFF;

/// The most workers that the word can count.
pub(crate) const MAX_WORKERS: usize = FIELD as usize;

#[derive(Debug)]
pub(super) struct Counters(CachePadded<AtomicU64>);

/// The word as it was at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Census(u64);

impl Census {
    pub(super) fn asleep(self) -> usize {
        (self.0 & FIELD) as usize
    }

    pub(super) fn hunting(self) -> usize {
        (self.0 >> 16 & FIELD) as usize
    }

    pub(super) fn got_up(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Nobody hunts and somebody sleeps. One comparison: `hunting` is 0 and `asleep` is not.
    #[inline]
    pub(super) fn nobody_hunts_though_some_sleep(self) -> bool {
        (self.0 as u32).wrapping_sub(1) < FIELD as u32
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Census")
            .field("asleep", &self.asleep())
            .field("hunting", &self.hunting())
            .field("got_up", &self.got_up())
            .finish()
    }
}

impl Counters {
    pub(super) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(0)))
    }

    /// The word now. Whoever decides by it has put a fence before (see the README).
    #[inline]
    pub(super) fn census(&self) -> Census {
        // Acquire pairs with the release in `falls_asleep`: whoever is counted as asleep is seen in the set of sleepers.
        Census(self.0.load(Ordering::Acquire))
    }

    pub(super) fn begins_to_hunt(&self) {
        self.0.fetch_add(ONE_HUNTING, Ordering::AcqRel);
    }

    /// Returns the word afterwards.
    pub(super) fn stops_hunting(&self) -> Census {
        let before = self.0.fetch_sub(ONE_HUNTING, Ordering::AcqRel);
        debug_assert!(Census(before).hunting() > 0, "stopped a hunt that never began");
        Census(before - ONE_HUNTING)
    }

    pub(super) fn falls_asleep(&self) {
        let before = self.0.fetch_sub(ONE_HUNTING - ONE_ASLEEP, Ordering::AcqRel);
        debug_assert!(Census(before).hunting() > 0, "only hunters fall asleep");
    }

    pub(super) fn gets_up(&self) {
        let change = ONE_GOT_UP + ONE_HUNTING - ONE_ASLEEP;
        let before = self.0.fetch_add(change, Ordering::AcqRel);
        debug_assert!(Census(before).asleep() > 0, "only sleepers get up");
    }
}
