//! How many items a leaf of a loop takes, found while the loop runs.

use std::time::{Duration, Instant};

use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

/// What a leaf should take. A fork costs some nanoseconds and reading the clock some tens, so both disappear in it; and two
/// workers that run out of leaves at different times differ by no more.
const LEAF: Duration = Duration::from_micros(2);

/// One leaf in so many is timed, once the size is right.
const SAMPLE: u32 = 8;

/// The size of the leaves of one loop: all its workers read it at every fork, and change it seldom.
#[derive(Debug)]
pub(super) struct Grain {
    items: AtomicUsize,
    /// Whether leaves have become as long as they should be.
    found: AtomicBool,
}

/// The way from the root of a loop to one of its parts, as far as it is needed to choose which leaves are timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path(u32);

impl Path {
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn left(self) -> Self {
        Self(self.0 << 1)
    }

    pub(super) fn right(self) -> Self {
        Self(self.0 << 1 | 1)
    }

    fn is_sample(self) -> bool {
        self.0.is_multiple_of(SAMPLE)
    }
}

impl Grain {
    /// Begins with one item, which may take long.
    pub(super) fn unknown() -> Self {
        Self { items: AtomicUsize::new(1), found: AtomicBool::new(false) }
    }

    // Relaxed, here and below: these are hints, and order nothing.

    #[inline]
    pub(super) fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    /// Runs a leaf of `items` items, and learns from how long it took.
    #[inline]
    pub(super) fn learn<R>(&self, items: usize, path: Path, leaf: impl FnOnce() -> R) -> R {
        if self.found.load(Ordering::Relaxed) && !path.is_sample() {
            return leaf();
        }
        let start = Instant::now();
        let result = leaf();
        self.correct(items, start.elapsed());
        result
    }

    #[cold]
    fn correct(&self, items: usize, took: Duration) {
        let grain = self.items();
        if took > 2 * LEAF {
            let scaled = items as u128 * LEAF.as_nanos() / took.as_nanos();
            // A leaf may have been smaller than the grain, and it may have been suspended: never by more than half.
            self.items.store((scaled as usize).max(grain / 2).max(1), Ordering::Relaxed);
            self.found.store(true, Ordering::Relaxed);
        } else if took >= LEAF / 2 {
            self.found.store(true, Ordering::Relaxed);
        } else if items >= grain {
            self.items.store(grain.saturating_mul(2), Ordering::Relaxed);
            self.found.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_leaves_are_short_and_shrinks_when_one_is_long() {
        let grain = Grain::unknown();
        for _ in 0..5 {
            grain.correct(grain.items(), LEAF / 10);
        }
        assert_eq!(grain.items(), 32);
        grain.correct(16, LEAF / 10);
        assert_eq!(grain.items(), 32, "a leaf smaller than the grain says nothing");
        grain.correct(32, LEAF);
        assert_eq!(grain.items(), 32);
        grain.correct(32, 1000 * LEAF);
        assert_eq!(grain.items(), 16, "one long leaf may have been suspended");
        for _ in 0..10 {
            grain.correct(grain.items(), 1000 * LEAF);
        }
        assert_eq!(grain.items(), 1);
    }
}
