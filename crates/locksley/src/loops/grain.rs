//! The number of items of a leaf, found while the loop runs.

use std::time::Duration;

use crate::numbers::Slot;
use crate::primitive::plain::{AtomicU32, AtomicUsize};
use crate::primitive::{Instant, Ordering};
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
    /// The slot of the worker. `None` for a fixed size.
    worker: Option<Slot>,
    items: AtomicUsize,
    /// The number of leaves until one is timed. It stays 0 until leaves take about as long as they
    /// should.
    untimed: AtomicU32,
}

// Relaxed in all accesses: one worker writes, and others read a hint.
impl Grain {
    /// The fixed size, or else one item: it may take long.
    pub(super) fn new(worker: &Worker, fixed: Option<usize>) -> Self {
        fixed.map_or_else(|| Self::of(Some(worker.slot()), 1), |items| Self::of(None, items))
    }

    fn of(worker: Option<Slot>, items: usize) -> Self {
        Self { worker, items: AtomicUsize::new(items), untimed: AtomicU32::new(0) }
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
        if self.worker.is_none() {
            return false; // writes nothing, because all workers share a fixed size
        }
        let untimed = self.untimed.load(Ordering::Relaxed);
        self.untimed.store(untimed.saturating_sub(1), Ordering::Relaxed);
        untimed == 0
    }

    /// A separate size for a worker that has stolen a part. `None` if this one is to be used.
    #[inline]
    pub(super) fn for_worker(&self, worker: &Worker) -> Option<Self> {
        let is_other = self.worker.is_some_and(|own| own != worker.slot());
        let items = || (self.items() / LEAF_SAMPLE as usize).max(1);
        is_other.then(|| Self::of(Some(worker.slot()), items()))
    }

    fn correct(&self, items: usize, took: Duration) {
        let grain = self.items();
        if took > 2 * LEAF {
            // If the worker was only suspended, the leaves soon grow again.
            let scaled = items as u128 * LEAF.as_nanos() / took.as_nanos();
            self.items.store((scaled as usize).max(1), Ordering::Relaxed);
        } else if took < LEAF / 2 && items > grain / 2 {
            // Parts are halved, so leaves have between half the grain and the grain. A smaller one
            // was divided by an earlier grain, or is the whole loop.
            self.items.store(grain.saturating_mul(2), Ordering::Relaxed);
        }
        let untimed = if took < LEAF / 2 { 0 } else { LEAF_SAMPLE - 1 };
        self.untimed.store(untimed, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_size_doubles_after_a_short_leaf_and_shrinks_after_a_long_one() {
        let grain = Grain::of(Some(Slot::new(0)), 1);
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
            let grain = Grain::of(Some(Slot::new(0)), 1);
            let leaves = leaves_of(&grain, items);
            assert!(grain.items() >= 1024, "{items}: {grain:?}");
            assert!(leaves < items as u32 / 512 + 100, "{items}: {leaves} leaves");
        }
    }
}
