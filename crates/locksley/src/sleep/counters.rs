//! One word that says how many workers search and sleep, whether there is a sentinel, and how many times one has got up.
//!
//! | bits  | field     | changes when                                                            |
//! |-------|-----------|-------------------------------------------------------------------------|
//! | 0–15  | `asleep`  | a thief falls asleep (+1), gets up (−1)                                |
//! | 16–31 | `searching` | a worker begins to search (+1), stops or falls asleep (−1), gets up (+1)  |
//! | 32    | `sentinel` | a thief falls asleep as the sentinel (+1), and gets up (−1)             |
//! | 33–63 | `got_up`  | a sleeper gets up (+1, wraps)                                           |
//!
//! Each worker changes the word only for itself, so a worker that is suspended leaves at most its own state behind.

use std::fmt;

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const FIELD: u64 = 0xFFFF;

const ONE_ASLEEP: u64 = 1;
const ONE_SEARCHING: u64 = 1 << 16;
const SENTINEL: u64 = 1 << 32;
const ONE_GOT_UP: u64 = 1 << 33;

/// The most workers that the word can count, with one number to spare that shows a field which went below 0.
pub(crate) const MAX_WORKERS: usize = FIELD as usize - 1;

#[derive(Debug)]
pub(super) struct Counters(CachePadded<AtomicU64>);

/// The word as it was at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) struct Snapshot(u64);

impl Snapshot {
    pub(crate) fn asleep(self) -> usize {
        (self.0 & FIELD) as usize
    }

    pub(crate) fn searching(self) -> usize {
        (self.0 >> 16 & FIELD) as usize
    }

    pub(super) fn got_up(self) -> u32 {
        (self.0 >> 33) as u32
    }

    pub(crate) fn has_sentinel(self) -> bool {
        self.0 & SENTINEL != 0
    }

    /// Nobody searches, and one of those who sleep would have to: anyone if there is no sentinel, and one of those beyond the
    /// `spare` ones if there is. One comparison: `searching` is 0 and `asleep` is greater than that.
    #[inline]
    pub(super) fn lacks_a_thief(self, spare: u32) -> bool {
        let spare = if self.has_sentinel() { spare } else { 0 };
        (self.0 as u32).wrapping_sub(spare + 1) < FIELD as u32 - spare
    }

    fn is_possible(self) -> bool {
        self.asleep() + self.searching() <= MAX_WORKERS
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("asleep", &self.asleep())
            .field("searching", &self.searching())
            .field("sentinel", &self.has_sentinel())
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
    pub(super) fn snapshot(&self) -> Snapshot {
        // Acquire pairs with the release in `change`: whoever is counted as asleep is seen in the set of sleepers.
        Snapshot(self.0.load(Ordering::Acquire))
    }

    pub(super) fn begin_search(&self) {
        let _ = self.change(ONE_SEARCHING, 0);
    }

    /// Returns the word afterwards, as do all others.
    pub(super) fn end_search(&self) -> Snapshot {
        self.change(0, ONE_SEARCHING)
    }

    pub(super) fn falls_asleep(&self) -> Snapshot {
        self.change(ONE_ASLEEP, ONE_SEARCHING)
    }

    pub(super) fn end_sleep(&self) -> Snapshot {
        self.change(ONE_GOT_UP + ONE_SEARCHING, ONE_ASLEEP)
    }

    /// As [`falls_asleep`](Self::falls_asleep), if there is no sentinel, and no more than `spare` sleep afterwards. Says whether it
    /// was so.
    pub(super) fn park_as_sentinel(&self, spare: u32) -> bool {
        let mut before = self.snapshot();
        while !before.has_sentinel() && before.asleep() < spare as usize {
            let after = before.0 + SENTINEL + ONE_ASLEEP - ONE_SEARCHING;
            // AcqRel as in `change`.
            let exchange =
                self.0.compare_exchange(before.0, after, Ordering::AcqRel, Ordering::Acquire);
            match exchange {
                Ok(_) => return true,
                Err(now) => before = Snapshot(now),
            }
        }
        false
    }

    pub(super) fn unpark_sentinel(&self) -> Snapshot {
        self.change(ONE_GOT_UP + ONE_SEARCHING, SENTINEL + ONE_ASLEEP)
    }

    /// Comes before or after each other change, and sees what came before.
    pub(super) fn touch(&self) {
        let _ = self.change(0, 0);
    }

    fn change(&self, add: u64, subtract: u64) -> Snapshot {
        let change = add.wrapping_sub(subtract);
        let before = self.0.fetch_add(change, Ordering::AcqRel);
        let after = Snapshot(before.wrapping_add(change));
        debug_assert!(after.is_possible(), "{:?} to {after:?}", Snapshot(before));
        after
    }
}
