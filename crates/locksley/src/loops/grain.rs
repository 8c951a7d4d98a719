//! How many items a leaf of a loop takes, found while the loop runs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::divide::Leaves;
use crate::worker::Worker;

/// What a leaf should take: long enough that what it costs to divide for it, and to look at the clock at times, is a few
/// hundredths of it. The rest of one leaf is what nobody else can reach, so it should not be longer than need be.
const LEAF: Duration = Duration::from_micros(5);

/// One leaf in so many is timed, once the size is right.
const SAMPLE: u32 = 16;

/// A worker that takes a part over begins with leaves so many times smaller: items may be different there.
const CAUTION: usize = 16;

/// The size of leaves, as one worker has found it in its part of a loop.
///
/// It is written with each leaf, and lies in a frame where other workers look up, with each leaf, what the body of the loop is: so it
/// has cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Grain {
    worker: usize,
    items: AtomicUsize,
    /// Whether leaves have become as long as they should be.
    found: AtomicBool,
    /// Leaves so far.
    leaves: AtomicU32,
}

// Relaxed, everywhere here: one worker writes, and others only take a hint.
impl Grain {
    /// Begins with one item, which may take long.
    pub(super) fn unknown(worker: &Worker) -> Self {
        Self::starting_with(1, worker.seat_index())
    }

    fn starting_with(items: usize, worker: usize) -> Self {
        let (found, leaves) = Default::default();
        Self { worker, items: AtomicUsize::new(items), found, leaves }
    }

    fn correct(&self, items: usize, took: Duration) {
        let grain = self.items();
        let too_long = took > 2 * LEAF;
        if too_long {
            // It may have been suspended and not slow: then the leaves grow again soon.
            let scaled = items as u128 * LEAF.as_nanos() / took.as_nanos();
            self.items.store((scaled as usize).max(1), Ordering::Relaxed);
        } else if took < LEAF / 2 {
            // Parts are divided by halves, so leaves are between half the grain and the grain. What is smaller was
            // divided by an earlier grain, or is all that there is.
            if items > grain / 2 {
                self.items.store(grain.saturating_mul(2), Ordering::Relaxed);
            }
        }
        self.found.store(too_long || took >= LEAF / 2, Ordering::Relaxed);
    }
}

impl Leaves for Grain {
    #[inline]
    fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    /// And learns from how long it took.
    #[inline]
    fn run<R>(&self, items: usize, leaf: impl FnOnce() -> R) -> R {
        let leaves = self.leaves.load(Ordering::Relaxed).wrapping_add(1);
        self.leaves.store(leaves, Ordering::Relaxed);
        let is_timed = !self.found.load(Ordering::Relaxed) || leaves.is_multiple_of(SAMPLE);
        let start = is_timed.then(Instant::now);
        // In one place, so that it is compiled into this.
        let result = leaf();
        if let Some(start) = start {
            self.correct(items, start.elapsed());
        }
        result
    }

    /// If that is another worker.
    #[inline]
    fn handed_to(&self, worker: &Worker) -> Option<Self> {
        let is_other = worker.seat_index() != self.worker;
        is_other.then(|| Self::starting_with((self.items() / CAUTION).max(1), worker.seat_index()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_leaves_are_short_and_shrinks_when_one_is_long() {
        let grain = Grain::starting_with(1, 0);
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

    /// Leaves of a part of so many items, each taking a nanosecond, are as long as they should be in the end.
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
            let grain = Grain::starting_with(1, 0);
            let leaves = leaves_of(&grain, items);
            assert!(grain.items() >= 1024, "{items}: {grain:?}");
            assert!(leaves < items as u32 / 512 + 100, "{items}: {leaves} leaves");
        }
    }
}
