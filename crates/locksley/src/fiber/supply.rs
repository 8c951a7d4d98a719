//! How many stacks there may be, and how large they are: for a whole pool.

use std::ops::RangeInclusive;

use super::switch::Stack;
use crate::primitive::{AtomicUsize, Ordering};

/// Stacks of one worker that nothing runs on, at the most. What is kept comes back in nanoseconds, and with all the memory that was
/// ever used of it; the rest is unmapped.
const KEPT: usize = 16;

/// What a pool is told about its stacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackOptions {
    /// How many there are at the most, beside those of the threads.
    pub(crate) most: usize,
    /// The size of each in bytes.
    pub(crate) bytes: usize,
}

impl StackOptions {
    /// What a stack can have. At the least what corosensei asks for; at the most so much that a page more, and rounding up, cannot
    /// overflow, which is far more than any system has addresses for.
    pub(crate) const SIZES: RangeInclusive<usize> = 4096..=usize::MAX / 4;
}

impl Default for StackOptions {
    fn default() -> Self {
        // Each takes two of the 65530 mappings that Linux lets a process have.
        Self { most: 10_000, bytes: USUAL_BYTES }
    }
}

/// As much as the standard library gives a thread, but so little less that not even a part of it can be one of the huge pages of
/// many systems, with which the first call on a stack would make 2 MiB resident.
const USUAL_BYTES: usize = (2 << 20) - (64 << 10);

/// A pool's stacks: a count of those that there are, whether used or kept.
#[derive(Debug)]
pub(crate) struct Supply {
    most: usize,
    bytes: usize,
    kept: usize,
    there: AtomicUsize,
}

impl Supply {
    pub(crate) fn new(options: StackOptions, workers: usize) -> Self {
        let StackOptions { most, bytes } = options;
        Self {
            most,
            bytes,
            // So few that what some keep is not what others lack.
            kept: KEPT.min(most / (2 * workers)),
            there: AtomicUsize::new(0),
        }
    }

    /// How many unused ones a worker keeps.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// One more; `None` if there are as many as there may be, or the system has none.
    pub(super) fn make(&self) -> Option<Stack> {
        // Relaxed, here and below: a count, and nothing else is learnt from it.
        let mut there = self.there.load(Ordering::Relaxed);
        loop {
            if there >= self.most {
                return None;
            }
            let counted =
                self.there.compare_exchange(there, there + 1, Ordering::Relaxed, Ordering::Relaxed);
            match counted {
                Ok(_) => break,
                Err(now) => there = now,
            }
        }
        let stack = Stack::new(self.bytes);
        if stack.is_none() {
            self.is_one_less();
        }
        stack
    }

    /// Does away with one.
    pub(super) fn unmake(&self, stack: Stack) {
        drop(stack);
        self.is_one_less();
    }

    fn is_one_less(&self) {
        self.there.fetch_sub(1, Ordering::Relaxed);
    }
}
