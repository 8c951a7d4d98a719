//! The number of items of a leaf, found while the loop runs.

use std::time::Duration;

use crate::numbers::Slot;
use crate::primitive::plain::{AtomicU32, AtomicUsize};
use crate::primitive::{Instant, Ordering};
use crate::tuning::{LEAF, LEAF_CUTS, LEAF_GROWTH, LEAF_SAMPLE};
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
    /// How many leaves may still be cut off singly: none after one that is not short.
    cuts: AtomicU32,
    items: AtomicUsize,
    /// The number of leaves until one is timed. It stays 0 until leaves take about as long as they
    /// should.
    untimed: AtomicU32,
}

// Relaxed in all accesses: one worker writes, and others read a hint.
impl Grain {
    /// The fixed size, or else one item: it may take long.
    pub(super) fn new(worker: &Worker, fixed: Option<usize>) -> Self {
        // A wait on a borrowed thread may run the whole rest.
        let cuts = if worker.is_borrowed() { 0 } else { LEAF_CUTS };
        match fixed {
            Some(items) => Self::of(None, items, 0),
            None => Self::of(Some(worker.slot()), 1, cuts),
        }
    }

    fn of(worker: Option<Slot>, items: usize, cuts: u32) -> Self {
        let (items, untimed) = (AtomicUsize::new(items), AtomicU32::new(0));
        Self { worker, cuts: AtomicU32::new(cuts), items, untimed }
    }

    /// The most items of a leaf.
    #[inline]
    pub(super) fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    /// The number of items of the first part, where a part of `items` items is divided.
    ///
    /// Until a leaf is not short, this is the next leaf, whose time decides how the rest is divided.
    /// There are few of these, since waits may run one rest inside another. Then it is a half: few
    /// steals give many workers a part each.
    #[inline]
    pub(super) fn first_part(&self, items: usize) -> usize {
        match self.cuts.load(Ordering::Relaxed) {
            0 => items / 2,
            cuts => {
                self.cuts.store(cuts - 1, Ordering::Relaxed);
                self.items()
            }
        }
    }

    /// Runs a leaf of `items` items, and corrects the size by its time. No leaf follows the
    /// last one, so that is not timed.
    #[inline]
    pub(super) fn run<R>(&self, items: usize, is_last: bool, leaf: impl FnOnce() -> R) -> R {
        let start = (!is_last && self.count_leaf()).then(Instant::now);
        // The only call of `leaf`, so that the compiler inlines it.
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
        let items = || (self.items() / LEAF_GROWTH as usize).max(1);
        is_other.then(|| Self::of(Some(worker.slot()), items(), 0))
    }

    fn correct(&self, items: usize, took: Duration) {
        let grain = self.items();
        if took > 2 * LEAF {
            // If the worker was only suspended, the leaves soon grow again.
            let scaled = items as u128 * LEAF.as_nanos() / took.as_nanos();
            self.items.store((scaled as usize).max(1), Ordering::Relaxed);
        } else if took < LEAF / 2 && items > grain / 2 {
            // Leaves of at most half the grain are ignored: most were cut when it was smaller. It
            // grows by `LEAF / took`, at least twice and at most `LEAF_GROWTH` times.
            let fitting = LEAF.as_nanos() as u64 / (took.as_nanos() as u64).max(1);
            let growth = fitting.clamp(2, LEAF_GROWTH.into()) as usize;
            self.items.store(grain.saturating_mul(growth), Ordering::Relaxed);
        }
        let is_short = took < LEAF / 2;
        self.untimed.store(if is_short { 0 } else { LEAF_SAMPLE - 1 }, Ordering::Relaxed);
        if !is_short {
            self.cuts.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn growing(items: usize) -> Grain {
        Grain::of(Some(Slot::new(0)), items, LEAF_CUTS)
    }

    #[test]
    fn the_size_grows_after_a_short_leaf_and_shrinks_after_a_long_one() {
        let grain = growing(1);
        grain.correct(1, LEAF / 3);
        assert_eq!(grain.items(), 3);
        grain.correct(3, LEAF / 2 - Duration::from_nanos(1));
        assert_eq!(grain.items(), 6, "at least twice as many");
        grain.correct(6, LEAF / 1000);
        assert_eq!(grain.items(), 96, "at most 16 times as many");
        grain.correct(48, Duration::ZERO);
        assert_eq!(grain.items(), 96, "a leaf of an earlier size is ignored");
        grain.correct(49, LEAF / 2);
        assert_eq!(grain.items(), 96);
        grain.correct(96, 2 * LEAF);
        assert_eq!(grain.items(), 96);
        grain.correct(96, 16 * LEAF);
        assert_eq!(grain.items(), 6);
        grain.correct(6, 1000 * LEAF);
        assert_eq!(grain.items(), 1);
    }

    #[test]
    fn the_next_leaf_is_cut_off_until_one_is_not_short() {
        let grain = growing(1);
        assert_eq!(grain.first_part(100), 1);
        grain.correct(1, LEAF / 2 - Duration::from_nanos(1));
        assert_eq!(grain.first_part(100), 2);
        grain.correct(2, LEAF / 2);
        assert_eq!(grain.first_part(100), 50);
        grain.correct(2, LEAF / 3);
        assert_eq!((grain.items(), grain.first_part(100)), (6, 50), "not again");
        assert_eq!(Grain::of(Some(Slot::new(0)), 4, 0).first_part(100), 50, "a stolen part");
        assert_eq!(Grain::of(None, 4, 0).first_part(100), 50, "a fixed size");
        // Leaves that wait: the size stays.
        let waits = growing(1);
        let parts = [(); 6].map(|()| waits.first_part(100));
        assert_eq!(parts, [1, 1, 1, 1, 50, 50]);
    }

    #[test]
    fn the_last_leaf_is_not_timed() {
        let grain = growing(1);
        grain.run(1, true, || ());
        assert_eq!(grain.items(), 1);
        // The thread may be suspended within a leaf.
        let grows = (0..1000).any(|_| {
            let grain = growing(1);
            grain.run(1, false, || ());
            grain.items() > 1
        });
        assert!(grows, "an empty leaf is short");
    }

    /// The number of leaves of a loop over `items` items that take a nanosecond each.
    fn leaves_of(grain: &Grain, items: usize) -> u32 {
        if items <= grain.items() {
            if grain.count_leaf() {
                grain.correct(items, Duration::from_nanos(items as u64));
            }
            return 1;
        }
        let first = grain.first_part(items);
        leaves_of(grain, first) + leaves_of(grain, items - first)
    }

    #[test]
    fn leaves_become_long_for_any_number_of_items() {
        for items in [1 << 20, 1_000_000, 786_432, 655_360, 100_003, 999_983] {
            let grain = growing(1);
            let leaves = leaves_of(&grain, items);
            assert!((2500..=10_000).contains(&grain.items()), "{items}: {grain:?}");
            assert!(leaves <= items as u32 / 1250 + 10, "{items}: {leaves} leaves");
        }
        for (items, leaves) in [(1, 1), (2, 2), (16, 2), (17, 2), (18, 3), (256, 3), (4096, 4)] {
            let grain = growing(1);
            assert_eq!(leaves_of(&grain, items), leaves, "{items}");
        }
    }
}
