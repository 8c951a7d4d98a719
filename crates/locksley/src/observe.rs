//! The one seam through which a pool is observed: causes and effects, task by task.
//!
//! An [`Observer`] is given to a pool when it is built. The workers of such a pool push through a
//! slow path, which calls the observer; the workers of any other pool run no instruction for it.
//!
//! Whatever makes a task run carries a [`Stamp`] from its cause to its effect: a fork to both
//! halves, a spawn to the task, a finished task to the code that waits for it, a message to its
//! receiver. What a stamp means is the observer's matter. A profiler keeps the length of the
//! longest path in it, a timeline the identity of the cause.

use crate::primitive::{AtomicU64, Ordering};

/// Carried from a cause to its effect. Only the observer that made it knows what it means.
///
/// Stamps are ordered in each of their two numbers: code that comes after several causes comes
/// after the maximum of each number. The default, zero, comes before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(pub [u64; 2]);

impl Stamp {
    /// The maximum of each number.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self([self.0[0].max(other.0[0]), self.0[1].max(other.0[1])])
    }
}

/// Learns what the workers of a pool do. Given to [`PoolBuilder::observer`].
///
/// Each method is called by the worker with the number `slot`, on its own thread. Slots are less
/// than [`MAX_SLOTS`](crate::extend::MAX_SLOTS); a replacement worker has a slot of its own. A
/// method that panics ends the process.
///
/// [`PoolBuilder::observer`]: crate::PoolBuilder::observer
pub trait Observer: Send + Sync + 'static {
    /// A task begins that comes after `cause`. What the worker ran before is suspended until
    /// [`end`](Self::end), to which the returned stamp is given back. `is_moved`: another worker
    /// made the task ready.
    fn begin(&self, slot: usize, cause: Stamp, is_moved: bool) -> Stamp;

    /// The task that began last ends: returns its last stamp. What was `suspended` goes on.
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

/// The maximum of the stamps of several causes.
#[derive(Debug)]
pub struct LatestStamp([AtomicU64; 2]);

impl LatestStamp {
    /// That of no causes.
    #[must_use]
    pub fn new() -> Self {
        Self([AtomicU64::new(0), AtomicU64::new(0)])
    }

    /// Adds a cause. The effect learns of it by something that orders memory.
    pub fn record(&self, cause: Stamp) {
        for (latest, new) in self.0.iter().zip(cause.0) {
            // Relaxed: published by whatever makes the effect happen, a latch or a point.
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

impl Default for LatestStamp {
    fn default() -> Self {
        Self::new()
    }
}
