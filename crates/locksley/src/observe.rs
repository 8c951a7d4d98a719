//! The interface by which a profiler observes a pool: causes and effects of tasks.
//!
//! An [`Observer`] is given to a pool when it is built. The workers of such a pool push through a
//! slow path, which calls the observer; the workers of any other pool run no instruction for it.
//!
//! A [`Stamp`] goes from each cause to its effect: from a fork to both halves, from a spawn to the
//! task, from a finished task to the code that waits for it, from a message to its receiver. The
//! observer gives stamps their meaning: for a profiler, the length of the longest path; for a
//! timeline, the identity of the cause.

use crate::primitive::{AtomicU64, Ordering};

/// Two numbers that go from a cause to its effect. The observer that made them gives them a
/// meaning.
///
/// Code with several causes has the maximum of each number. The default, zero, comes before all
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(pub [u64; 2]);

impl Stamp {
    /// The maximum of each number.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self([self.0[0].max(other.0[0]), self.0[1].max(other.0[1])])
    }
}

/// Is told what the workers of a pool do. Set by [`PoolBuilder::observer`].
///
/// The worker in `slot` calls each method on its own thread. Slots are less
/// than [`MAX_SLOTS`](crate::extend::MAX_SLOTS); a replacement worker has a slot of its own. A
/// method that panics ends the process.
///
/// [`PoolBuilder::observer`]: crate::PoolBuilder::observer
pub trait Observer: Send + Sync + 'static {
    /// A task begins after `cause`. The task that the worker ran before is suspended until
    /// [`end`](Self::end), which gets the returned stamp. `is_moved` is true if another worker made
    /// the task ready.
    fn begin(&self, slot: usize, cause: Stamp, is_moved: bool) -> Stamp;

    /// The task that began last ends, and the `suspended` one resumes. Returns the last stamp of
    /// the task that ended.
    fn end(&self, slot: usize, suspended: Stamp) -> Stamp;

    /// The present stamp of the running task.
    fn stamp(&self, slot: usize) -> Stamp;

    /// From here on, the running task also comes after `cause`.
    fn follow(&self, slot: usize, cause: Stamp);

    /// The running task begins to wait. Tasks may begin and end before it goes on.
    fn pause(&self, slot: usize) -> Stamp;

    /// The wait is over; `paused` is what [`pause`](Self::pause) returned.
    fn resume(&self, slot: usize, paused: Stamp);
}

/// The maximum of the stamps of several causes. Zero by default.
#[derive(Debug, Default)]
pub struct LatestStamp([AtomicU64; 2]);

impl LatestStamp {
    /// Adds a cause. The code that makes the effect run orders memory.
    pub fn record(&self, cause: Stamp) {
        for (latest, new) in self.0.iter().zip(cause.0) {
            // Relaxed: the latch or queue that makes the effect run publishes it.
            latest.fetch_max(new, Ordering::Relaxed);
        }
    }

    /// The maximum until now.
    #[must_use]
    pub fn get(&self) -> Stamp {
        // Relaxed: as in `record`.
        Stamp([self.0[0].load(Ordering::Relaxed), self.0[1].load(Ordering::Relaxed)])
    }
}
