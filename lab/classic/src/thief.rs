//! What the papers' stealing policies have in common: what they are made of, and when they are
//! called.

use crate::priority::LoweredPriority;

/// What a worker does while its deque is empty, and how tasks are announced: the part of the
/// scheduling loop in which the papers differ.
pub trait Stealing: Send + Sync {
    /// Prepares for this many workers, before any of them starts.
    fn start(&mut self, workers: usize) {
        let _ = workers;
    }

    /// Called whenever the deque of `w` is empty. Returns after one attempt to steal or more, or
    /// when the work is done.
    fn steal(&self, w: &dyn Thief);

    /// Called when `w` has put a thread into a deque.
    fn generated(&self, w: &dyn Thief) {
        let _ = w;
    }

    /// True if victims are workers, so that each needs a deque of its own.
    fn needs_a_deque_each(&self) -> bool {
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
    /// The kernels of today have no such call. This yields, and the kernel chooses the next thread.
    fn yield_to(&self, worker: usize);

    /// Lowers the priority of this worker until the result is dropped. `None` where it could not be
    /// raised again.
    fn lower_priority(&self) -> Option<LoweredPriority>;

    /// True if a worker sleeps.
    fn is_asleep(&self, worker: usize) -> bool;

    /// Sleeps until another worker [wakes](Self::wake) this one, or the work is done.
    fn sleep(&self);

    /// Wakes a worker. Returns false if it did not sleep.
    fn wake(&self, worker: usize) -> bool;

    /// Wakes a worker that sleeps, if there is one: the first from a random one on. Returns its
    /// number.
    fn wake_any(&self) -> Option<usize>;
}
