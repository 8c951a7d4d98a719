//! A counter of parts that have not ended: it tells the last one that it is the last.

#[cfg(all(test, loom))]
mod models;

use crate::primitive::{AtomicUsize, Ordering, const_unless_loom};

/// The number of parts that have not ended. The last one to end learns that it was the last, and
/// acts on it: a scope sets a latch.
#[derive(Debug)]
pub struct Countdown(AtomicUsize);

impl Countdown {
    const_unless_loom! {
        /// A counter of `left` parts.
        pub fn new(left: usize) -> Self {
            Self(AtomicUsize::new(left))
        }
    }

    /// The number of parts that have not ended. If it is 0, what all did before is visible.
    #[inline]
    pub fn left(&self) -> usize {
        // Acquire pairs with the release of the last to end, which has seen what all others did.
        self.0.load(Ordering::Acquire)
    }

    /// Counts one more part. The caller is a part that has not ended.
    #[inline]
    pub fn begin(&self) {
        // Relaxed: its end comes after it is sent, which comes after this.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before > 0, "one began after all had ended");
    }

    /// Ends a part that has not ended before. True if it was the last.
    #[inline]
    #[must_use = "a thread may wait for the last"]
    pub fn end(&self) -> bool {
        // AcqRel: the last one has seen what all others did, and hands it to the thread that waits.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Ends a part; `None` if all have ended. True if it was the last.
    pub fn try_end(&self) -> Option<bool> {
        let less = |left: usize| left.checked_sub(1);
        // AcqRel, as above.
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
        before.ok().map(|left| left == 1)
    }
}
