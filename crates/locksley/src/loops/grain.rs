//! How many items a leaf of a loop takes, found while the loop runs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::scheduler::Worker;

/// What a leaf should take: long enough that dividing for it, and looking at the clock at times,
/// costs a few hundredths of it. No other worker can reach the rest of a leaf, so it should not be
/// longer than necessary.
const LEAF: Duration = Duration::from_micros(5);

/// One leaf in so many is timed, once the size is right.
const SAMPLE: u32 = 16;

/// A worker that takes over a part begins with leaves so many times smaller: the items may be
/// different there.
const CAUTION: usize = 16;

/// The size of leaves, as one worker has found it in its part of a loop, or as the caller has fixed
/// it for all workers.
///
/// The worker writes it with each leaf. It lies in a frame where other workers read, with each
/// leaf, what the body of the loop is: so it has cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Grain {
    /// The slot of the worker.
    worker: usize,
    is_fixed: bool,
    items: AtomicUsize,
    /// Whether leaves have become as long as they should be.
    found: AtomicBool,
    /// Leaves so far.
    leaves: AtomicU32,
}

// Relaxed, everywhere here: one worker writes, and others only take a hint.
impl Grain {
    /// Begins with one item, which may take long, if the caller has not fixed a size.
    pub(super) fn new(worker: &Worker, fixed: Option<usize>) -> Self {
        Self { is_fixed: fixed.is_some(), ..Self::of(worker.slot_index(), fixed.unwrap_or(1)) }
    }

    fn of(worker: usize, items: usize) -> Self {
        let (is_fixed, found, leaves) = Default::default();
        Self { worker, is_fixed, items: AtomicUsize::new(items), found, leaves }
    }

    /// The most items of a leaf.
    #[inline]
    pub(super) fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    /// Runs a leaf of so many items, and learns from how long it took.
    #[inline]
    pub(super) fn run<R>(&self, items: usize, leaf: impl FnOnce() -> R) -> R {
        let start = self.times_next_leaf().then(Instant::now);
        // In one place, so that it is compiled into this.
        let result = leaf();
        if let Some(start) = start {
            self.correct(items, start.elapsed());
        }
        result
    }

    /// Counts a leaf. True if it is to be timed.
    #[inline]
    fn times_next_leaf(&self) -> bool {
        if self.is_fixed {
            return false; // and writes nothing: all workers share a fixed size
        }
        let leaves = self.leaves.load(Ordering::Relaxed).wrapping_add(1);
        self.leaves.store(leaves, Ordering::Relaxed);
        !self.found.load(Ordering::Relaxed) || leaves.is_multiple_of(SAMPLE)
    }

    /// A size of its own for another worker that has taken over a part.
    #[inline]
    pub(super) fn handed_to(&self, worker: &Worker) -> Option<Self> {
        let is_other = !self.is_fixed && worker.slot_index() != self.worker;
        is_other.then(|| Self::of(worker.slot_index(), (self.items() / CAUTION).max(1)))
    }

    fn correct(&self, items: usize, took: Duration) {
        let grain = self.items();
        let too_long = took > 2 * LEAF;
        if too_long {
            // The worker may have been suspended: then the leaves grow again soon.
            let scaled = items as u128 * LEAF.as_nanos() / took.as_nanos();
            self.items.store((scaled as usize).max(1), Ordering::Relaxed);
        } else if took < LEAF / 2 {
            // Parts are divided by halves, so leaves are between half the grain and the grain. A
            // smaller one was divided by an earlier grain, or is the whole loop.
            if items > grain / 2 {
                self.items.store(grain.saturating_mul(2), Ordering::Relaxed);
            }
        }
        self.found.store(too_long || took >= LEAF / 2, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_leaves_are_short_and_shrinks_when_one_is_long() {
        let grain = Grain::of(0, 1);
        for _ in 0..5 {
            grain.correct(grain.items(), LEAF / 10);
        }
        assert_eq!(grain.items(), 32);
        grain.correct(16, LEAF / 10);
        assert_eq!(grain.items(), 32, "a leaf from before it grew says nothing");
        grain.correct(17, LEAF / 10);
        assert_eq!(grain.items(), 64);
        grain.correct(64, LEAF);
        assert_eq!(grain.items(), 64);
        grain.correct(64, 16 * LEAF);
        assert_eq!(grain.items(), 4);
        grain.correct(4, 1000 * LEAF);
        assert_eq!(grain.items(), 1);
    }

    /// The number of leaves of so many items that take a nanosecond each.
    fn leaves_of(grain: &Grain, items: usize) -> u32 {
        if items <= grain.items() {
            grain.correct(items, Duration::from_nanos(items as u64));
            return 1;
        }
        leaves_of(grain, items / 2) + leaves_of(grain, items - items / 2)
    }

    #[test]
    fn any_number_of_items_gets_long_leaves() {
        for items in [1 << 20, 1_000_000, 786_432, 655_360, 100_003, 999_983] {
            let grain = Grain::of(0, 1);
            let leaves = leaves_of(&grain, items);
            assert!(grain.items() >= 1024, "{items}: {grain:?}");
            assert!(leaves < items as u32 / 512 + 100, "{items}: {leaves} leaves");
        }
    }
}
