//! One word that says how many workers hunt and sleep, whether there is a lookout, and how many times one has got up.
//!
//! | bits  | field     | changes when                                                            |
//! |-------|-----------|-------------------------------------------------------------------------|
//! | 0–15  | `asleep`  | a hunter falls asleep (+1), gets up (−1)                                |
//! | 16–31 | `hunting` | a worker begins to hunt (+1), stops or falls asleep (−1), gets up (+1)  |
//! | 32    | `lookout` | a hunter falls asleep as the lookout (+1), and gets up (−1)             |
//! | 33–63 | `got_up`  | a sleeper gets up (+1, wraps)                                           |
//!
//! Each worker changes the word only for itself, so a worker that is suspended leaves at most its own state behind.

use std::fmt;

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const FIELD: u64 = 0xFFFF;

const ONE_ASLEEP: u64 = 1;
const ONE_HUNTING: u64 = 1 << 16;
const LOOKOUT: u64 = 1 << 32;
const ONE_GOT_UP: u64 = 1 << 33;

/// The most workers that the word can count, with one number to spare that shows a field which went below 0.
pub(crate) const MAX_WORKERS: usize = FIELD as usize - 1;

#[derive(Debug)]
pub(super) struct Counters(CachePadded<AtomicU64>);

/// The word as it was at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) struct Census(u64);

impl Census {
    pub(crate) fn asleep(self) -> usize {
        (self.0 & FIELD) as usize
    }

    pub(crate) fn hunting(self) -> usize {
        (self.0 >> 16 & FIELD) as usize
    }

    pub(super) fn got_up(self) -> u32 {
        (self.0 >> 33) as u32
    }

    pub(crate) fn has_lookout(self) -> bool {
        self.0 & LOOKOUT != 0
    }

    /// Nobody hunts, and one of those who sleep would have to: anyone if there is no lookout, and one of those beyond the
    /// `spare` ones if there is. One comparison: `hunting` is 0 and `asleep` is greater than that.
    #[inline]
    pub(super) fn lacks_a_hunter(self, spare: u32) -> bool {
        let spare = if self.has_lookout() { spare } else { 0 };
        (self.0 as u32).wrapping_sub(spare + 1) < FIELD as u32 - spare
    }

    fn is_possible(self) -> bool {
        self.asleep() + self.hunting() <= MAX_WORKERS
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Census")
            .field("asleep", &self.asleep())
            .field("hunting", &self.hunting())
            .field("lookout", &self.has_lookout())
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
        // Acquire pairs with the release in `change`: whoever is counted as asleep is seen in the set of sleepers.
        Census(self.0.load(Ordering::Acquire))
    }

    pub(super) fn begins_to_hunt(&self) {
        let _ = self.change(ONE_HUNTING, 0);
    }

    /// Returns the word afterwards, as do all others.
    pub(super) fn stops_hunting(&self) -> Census {
        self.change(0, ONE_HUNTING)
    }

    pub(super) fn falls_asleep(&self) -> Census {
        self.change(ONE_ASLEEP, ONE_HUNTING)
    }

    pub(super) fn gets_up(&self) -> Census {
        self.change(ONE_GOT_UP + ONE_HUNTING, ONE_ASLEEP)
    }

    /// As [`falls_asleep`](Self::falls_asleep), if there is no lookout, and no more than `spare` sleep afterwards. Says whether it
    /// was so.
    pub(super) fn falls_asleep_as_lookout(&self, spare: u32) -> bool {
        let mut before = self.census();
        while !before.has_lookout() && before.asleep() < spare as usize {
            let after = before.0 + LOOKOUT + ONE_ASLEEP - ONE_HUNTING;
            // AcqRel as in `change`.
            let exchange =
                self.0.compare_exchange(before.0, after, Ordering::AcqRel, Ordering::Acquire);
            match exchange {
                Ok(_) => return true,
                Err(now) => before = Census(now),
            }
        }
        false
    }

    pub(super) fn lookout_gets_up(&self) -> Census {
        self.change(ONE_GOT_UP + ONE_HUNTING, LOOKOUT + ONE_ASLEEP)
    }

    /// Comes before or after each other change, and sees what came before.
    pub(super) fn touch(&self) {
        let _ = self.change(0, 0);
    }

    fn change(&self, add: u64, subtract: u64) -> Census {
        let change = add.wrapping_sub(subtract);
        let before = self.0.fetch_add(change, Ordering::AcqRel);
        let after = Census(before.wrapping_add(change));
        debug_assert!(after.is_possible(), "{:?} to {after:?}", Census(before));
        after
    }
}
