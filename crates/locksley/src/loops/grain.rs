//! The number of items of a leaf, found while the loop runs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use crate::numbers::Slot;
use crate::primitive::Instant;
use crate::tuning::{LEAF, LEAF_SAMPLE};
use crate::worker::Worker;

/// The size of leaves: found by one worker in its part of a loop, or fixed by the caller for all
/// workers.
///
/// The worker writes it with each leaf. It lies in a frame that other workers read, so it has its
/// own cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Grain {
    /// The slot of the worker.
    worker: Slot,
    is_fixed: bool,
    items: AtomicUsize,
    /// True if leaves take about as long as they should.
    is_found: AtomicBool,
    /// The number of leaves that have begun.
    leaves: AtomicU32,
}

// Relaxed in all accesses: one worker writes, and others read a hint.
impl Grain {
    /// The fixed size, or else one item: it may take long.
    pub(super) fn new(worker: &Worker, fixed: Option<usize>) -> Self {
        Self { is_fixed: fixed.is_some(), ..Self::of(worker.slot(), fixed.unwrap_or(1)) }
    }

    fn of(worker: Slot, items: usize) -> Self {
        let (is_fixed, is_found, leaves) = Default::default();
        Self { worker, is_fixed, items: AtomicUsize::new(items), is_found, leaves }
    }

    /// The most items of a leaf.
    #[inline]
    pub(super) fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    /// Runs a leaf of `items` items, and corrects the size by its time.
    #[inline]
    pub(super) fn run<R>(&self, items: usize, leaf: impl FnOnce() -> R) -> R {
        let start = self.count_leaf().then(Instant::now);
        // One call, so that it is inlined.
        let result = leaf();
        if let Some(start) = start {
            self.correct(items, start.elapsed());
        }
        result
    }

    /// Counts a leaf. True if it is to be timed.
    #[inline]
    fn count_leaf(&self) -> bool {
        if self.is_fixed {
            return false; // writes nothing, because all workers share a fixed size
        }
        let leaves = self.leaves.load(Ordering::Relaxed).wrapping_add(1);
        self.leaves.store(leaves, Ordering::Relaxed);
        !self.is_found.load(Ordering::Relaxed) || leaves.is_multiple_of(LEAF_SAMPLE)
    }

    /// A separate size for a worker that has stolen a part. `None` if this one is to be used.
    #[inline]
    pub(super) fn for_worker(&self, worker: &Worker) -> Option<Self> {
        let is_other = !self.is_fixed && worker.slot() != self.worker;
        is_other.then(|| Self::of(worker.slot(), (self.items() / LEAF_SAMPLE as usize).max(1)))
    }

    fn correct(&self, items: usize, took: Duration) {
        let grain = self.items();
        let too_long = took > 2 * LEAF;
        if too_long {
            // If the worker was only suspended, the leaves soon grow again.
            let scaled = items as u128 * LEAF.as_nanos() / took.as_nanos();
            self.items.store((scaled as usize).max(1), Ordering::Relaxed);
        } else if took < LEAF / 2 {
            // Parts are halved, so leaves have between half the grain and the grain. A smaller one
            // was divided by an earlier grain, or is the whole loop.
            if items > grain / 2 {
                self.items.store(grain.saturating_mul(2), Ordering::Relaxed);
            }
        }
        self.is_found.store(too_long || took >= LEAF / 2, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_size_doubles_after_a_short_leaf_and_shrinks_after_a_long_one() {
        let grain = Grain::of(Slot::new(0), 1);
        for _ in 0..5 {
            grain.correct(grain.items(), LEAF / 10);
        }
        assert_eq!(grain.items(), 32);
        grain.correct(16, LEAF / 10);
        assert_eq!(grain.items(), 32, "a leaf of an earlier size is ignored");
        grain.correct(17, LEAF / 10);
        assert_eq!(grain.items(), 64);
        grain.correct(64, LEAF);
        assert_eq!(grain.items(), 64);
        grain.correct(64, 16 * LEAF);
        assert_eq!(grain.items(), 4);
        grain.correct(4, 1000 * LEAF);
        assert_eq!(grain.items(), 1);
    }

    /// The number of leaves of a loop over `items` items that take a nanosecond each.
    fn leaves_of(grain: &Grain, items: usize) -> u32 {
        if items <= grain.items() {
            grain.correct(items, Duration::from_nanos(items as u64));
            return 1;
        }
        leaves_of(grain, items / 2) + leaves_of(grain, items - items / 2)
    }

    #[test]
    fn leaves_become_long_for_any_number_of_items() {
        for items in [1 << 20, 1_000_000, 786_432, 655_360, 100_003, 999_983] {
            let grain = Grain::of(Slot::new(0), 1);
            let leaves = leaves_of(&grain, items);
            assert!(grain.items() >= 1024, "{items}: {grain:?}");
            assert!(leaves < items as u32 / 512 + 100, "{items}: {leaves} leaves");
        }
    }
}
