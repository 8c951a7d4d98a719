//! What the papers' stealing policies have in common: what they are made of, and when they are
//! called.

use crate::priority::LoweredPriority;

/// What a worker does while its deque is empty, and how tasks are announced: the part of the
/// scheduling loop in which the papers differ.
pub trait Stealing: Send + Sync {
    /// Prepares for this many workers, before any of them starts.
    fn start(&mut self, _workers: usize) {}

    /// Called whenever `w` has no thread to run. Returns after one attempt to steal or more, or
    /// when the work is done.
    fn steal(&self, w: &dyn Thief);

    /// Called after `w` has created or unblocked a thread.
    fn generated(&self, _w: &dyn Thief) {}

    /// True if `steal` makes one attempt, and does not sleep. Otherwise the worker does not look
    /// into its own deque for long, so no other worker may push there.
    fn is_one_attempt(&self) -> bool {
        false
    }
}

/// A worker as its policy uses it: *w* in the papers' algorithms.
pub trait Thief {
    /// The number of this worker.
    fn index(&self) -> usize;

    /// The number of workers.
    fn workers(&self) -> usize;

    /// True when all threads have ended.
    fn work_is_done(&self) -> bool;

    /// A victim, all others being equally likely: the number of a deque, which is that of a worker
    /// where each has one. The own deque where there is no other one.
    fn random_victim(&self) -> usize;

    /// Tries once to take the thread at the top of a victim's deque, and to enqueue it. Returns
    /// true on success.
    fn steal_from(&self, victim: usize) -> bool;

    /// True if a worker has an unfinished task.
    fn has_task(&self, worker: usize) -> bool;

    /// True if a worker is ready but not on a processor, as far as the kernel tells.
    fn is_preempted(&self, worker: usize) -> bool;

    /// Makes the system call that yields the processor.
    fn yield_core(&self);

    /// Yields the processor to a worker.
    ///
    /// The kernels of today have no such call. This yields, and the kernel chooses the next thread
    /// of this processor, even if the worker waits for another one.
    fn yield_to(&self, _worker: usize) {
        self.yield_core();
    }

    /// Lowers the priority of this worker until the result is dropped. `None` where it could not be
    /// raised again, as for most processes without privileges.
    fn lower_priority(&self) -> Option<LoweredPriority> {
        LoweredPriority::begin()
    }

    /// True if a worker sleeps.
    fn is_asleep(&self, worker: usize) -> bool;

    /// Sleeps until another worker [wakes](Self::wake) this one, or the work is done.
    fn sleep(&self);

    /// Wakes a worker. Returns false if it did not sleep.
    fn wake(&self, worker: usize) -> bool;

    /// A worker that sleeps, if there is one: the first from a random one on.
    fn sleeper(&self) -> Option<usize>;

    /// Tries to wake a worker that sleeps. Returns its number.
    fn wake_any(&self) -> Option<usize> {
        self.sleeper().filter(|&sleeper| self.wake(sleeper))
    }
}
