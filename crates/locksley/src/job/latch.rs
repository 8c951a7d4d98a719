//! Latches: how a task announces, once, that it has ended.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::countdown::Countdown;
use crate::header::Flag;
use crate::numbers::Slot;
use crate::observe::LatestStamp;
use crate::os;
use crate::primitive::{Instant, spin_loop, thread};
use crate::shared::Shared;
use crate::tuning::WAIT_SPIN;
use crate::worker::{Worker, follow};

/// A latch for which one thread waits.
#[derive(Debug)]
pub(crate) struct Latch<'w> {
    pub(crate) flag: Flag,
    waiter: Waiter<'w>,
    /// The generation of the process that has the thread which sets the latch.
    generation: u32,
}

/// The thread that waits for a latch.
#[derive(Debug)]
enum Waiter<'w> {
    /// A worker: its slot and its pool.
    Worker(Slot, &'w Arc<Shared>),
    Thread(thread::Thread),
}

impl<'w> Latch<'w> {
    /// A latch for which the calling thread waits, which may be the worker `waiter`.
    pub(crate) fn new(waiter: Option<&'w Worker>) -> Self {
        let worker = |it: &'w Worker| Waiter::Worker(it.slot(), it.shared());
        let waiter = waiter.map_or_else(|| Waiter::Thread(thread::current()), worker);
        Self { flag: Flag::default(), waiter, generation: os::generation() }
    }

    /// Sets the latch.
    ///
    /// # Safety
    /// The latch is alive when the call begins. The waiter may free it as soon as it sees the latch
    /// set.
    pub(crate) unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until the flag is set below, after the last use of this reference.
        let latch = unsafe { this.as_ref() };
        match &latch.waiter {
            &Waiter::Worker(slot, pool) => {
                // Keeps the pool alive, which the thread that sets the latch need not belong to.
                let pool = Arc::clone(pool);
                latch.flag.set();
                pool.unpark(slot);
            }
            Waiter::Thread(thread) => {
                let thread = thread.clone();
                latch.flag.set();
                thread.unpark();
            }
        }
    }

    /// Waits until the latch is set. A thread that is the worker `current` waits by calling `wait`.
    /// Any other thread spins, and then blocks.
    ///
    /// # Panics
    /// On a thread that is not a worker, in a forked child, if a thread of the parent would set the
    /// latch. The frame may unwind, since no other thread of the child refers to it.
    pub(crate) fn wait_with(&self, current: Option<&Worker>, wait: impl FnOnce(&Worker, &Flag)) {
        if let Some(worker) = current {
            return wait(worker, &self.flag);
        }
        let began = Instant::now();
        while !self.flag.is_set() && began.elapsed() < WAIT_SPIN {
            (0..8).for_each(|_| spin_loop());
        }
        while !self.flag.is_set() {
            assert_eq!(self.generation, os::generation(), "a task was lost in a fork");
            thread::park();
        }
    }
}

/// A join counter: sets a latch when all tasks that were counted have ended.
#[derive(Debug)]
pub(crate) struct CountLatch<'w> {
    /// The number of tasks that have not ended, and 1 for the creator of the latch.
    unfinished: Countdown,
    all_done: Latch<'w>,
    /// In an observed pool, what the waiter comes after.
    latest: LatestStamp,
}

impl<'w> CountLatch<'w> {
    /// A counter for which the calling thread waits, which may be the worker `waiter`. The thread
    /// counts as the first task.
    pub(crate) fn new(waiter: Option<&'w Worker>) -> Self {
        let all_done = Latch::new(waiter);
        Self { unfinished: Countdown::new(1), all_done, latest: LatestStamp::default() }
    }

    /// Counts one more task. The caller is a task that has not ended.
    pub(crate) fn increment(&self) {
        self.unfinished.begin();
    }

    /// Records the stamp of the task that ends on `worker`. Called before [`end`](Self::end).
    pub(crate) fn record_stamp(&self, worker: &Worker) {
        if let Some(stamp) = worker.stamp() {
            self.latest.record(stamp);
        }
    }

    /// Counts the end of one task.
    ///
    /// # Safety
    /// The latch is alive when the call begins, and the task was counted. The waiter may free the
    /// latch as soon as all tasks have ended.
    pub(crate) unsafe fn end(this: NonNull<Self>) {
        // SAFETY: alive until all tasks have ended, and the caller's has not.
        let latch = unsafe { this.as_ref() };
        if latch.unfinished.end() {
            let all_done = NonNull::from(&latch.all_done);
            // SAFETY: alive until it is set, which only this call does.
            unsafe { Latch::set(all_done) };
        }
    }

    /// Ends the caller's own task, and waits for all others, as [`Latch::wait_with`] does.
    pub(crate) fn end_and_wait(&self, current: Option<&Worker>, wait: impl FnOnce(&Worker, &Flag)) {
        // SAFETY: alive, since it is borrowed.
        unsafe { Self::end(NonNull::from(self)) };
        self.all_done.wait_with(current, wait);
        follow(self.latest.get());
    }
}
