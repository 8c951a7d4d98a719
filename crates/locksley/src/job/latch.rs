//! Latches: how a task announces, once, that it has ended.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use crate::countdown::Countdown;
use crate::header::Flag;
use crate::numbers::Slot;
use crate::observe::LatestStamp;
use crate::os;
use crate::primitive::{Instant, spin_loop};
use crate::shared::Shared;
use crate::sleep::Parker;
use crate::worker::{Worker, follow};

/// A latch for which one thread waits. It is set when all parts that it counts have ended.
#[derive(Debug)]
pub(crate) struct Latch<'w> {
    pub(crate) flag: Flag,
    /// The number of parts that have not ended.
    unfinished: Countdown,
    waiter: Waiter<'w>,
    /// The generation of the process that has the thread which sets the latch.
    generation: u32,
    /// In an observed pool, what the waiter comes after.
    latest: LatestStamp,
}

/// The thread that waits for a latch.
#[derive(Debug)]
enum Waiter<'w> {
    /// A worker: its slot and its pool.
    Worker(Slot, &'w Arc<Shared>),
    /// Any other thread blocks here. (To park it by std would take the program's own tokens.)
    Thread(Arc<Parker>),
}

impl<'w> Latch<'w> {
    /// A latch for which the calling thread waits, which may be the worker `waiter`. It counts one
    /// part.
    pub(crate) fn new(waiter: Option<&'w Worker>) -> Self {
        let worker = |it: &'w Worker| Waiter::Worker(it.slot(), it.shared());
        Self {
            flag: Flag::default(),
            unfinished: Countdown::new(1),
            waiter: waiter.map_or_else(|| Waiter::Thread(Arc::default()), worker),
            generation: os::generation(),
            latest: LatestStamp::default(),
        }
    }

    /// Counts one more part. The caller is a part that has not ended.
    pub(crate) fn increment(&self) {
        self.unfinished.begin();
    }

    /// Counts the end of one part. If it is a task in an observed pool, the waiter then comes after
    /// the task, which ran on `worker`.
    ///
    /// # Safety
    /// The latch is alive when the call begins, and the part was counted. The waiter may free the
    /// latch as soon as all parts have ended.
    pub(crate) unsafe fn end(this: NonNull<Self>, worker: Option<&Worker>) {
        // SAFETY: alive until the last part has set the flag below, which is its last use of this
        // reference. The other parts do not use it after they have ended.
        let latch = unsafe { this.as_ref() };
        if let Some(stamp) = worker.and_then(Worker::stamp) {
            latch.latest.record(stamp);
        }
        if !latch.unfinished.end() {
            return;
        }
        match &latch.waiter {
            &Waiter::Worker(slot, pool) => {
                // Keeps the pool alive, which the thread that sets the latch need not belong to.
                let pool = Arc::clone(pool);
                latch.flag.set();
                pool.unpark(slot);
            }
            Waiter::Thread(parker) => {
                let parker = Arc::clone(parker);
                latch.flag.set();
                parker.unpark();
            }
        }
    }

    /// Ends the caller's own part, and waits for all others. A thread that is the worker `current`
    /// waits by calling `wait`. Any other thread blocks.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    pub(crate) fn end_and_wait(&self, current: Option<&Worker>, wait: impl FnOnce(&Worker, &Flag)) {
        // SAFETY: alive, since it is borrowed.
        unsafe { Self::end(NonNull::from(self), None) };
        self.wait(current, wait);
    }

    /// Waits for all parts, of which the caller has none.
    ///
    /// # Panics
    /// On a thread that is not a worker, in a forked child, if a thread of the parent would set the
    /// latch. The frame may unwind, since no other thread of the child refers to it.
    pub(crate) fn wait(&self, current: Option<&Worker>, wait: impl FnOnce(&Worker, &Flag)) {
        match current {
            Some(worker) => wait(worker, &self.flag),
            None => self.block(),
        }
        follow(self.latest.get());
    }

    /// Spins until the latch is set, but no longer than `limit`.
    pub(crate) fn spin(&self, limit: Duration) {
        let begun = Instant::now();
        while !self.flag.is_set() && begun.elapsed() < limit {
            (0..8).for_each(|_| spin_loop());
        }
    }

    fn block(&self) {
        let Waiter::Thread(parker) = &self.waiter else { unreachable!("a worker waits in `wait`") };
        while !self.flag.is_set() {
            assert_eq!(
                self.generation,
                os::generation(),
                "a task was lost in a fork of the process"
            );
            parker.park(|| self.flag.is_set(), None);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::primitive::thread;

    #[test]
    fn a_caller_stops_spinning_when_the_latch_is_set() {
        let latch = Latch::new(None);
        let part = &latch;
        thread::scope(|threads| {
            // SAFETY: alive until this thread has ended.
            threads.spawn(move || unsafe { Latch::end(NonNull::from(part), None) });
            latch.spin(Duration::from_secs(7200));
            assert!(latch.flag.is_set());
        });
    }
}
