//! Semaphores.
//!
//! Source: "Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, sections
//! 2 and 3.2: the one synchronization variable of Hood 2.1, with a non-blocking queue of threads.
//!
//! The queue is crossbeam's: lock-free, but a pop may wait for a push in progress. A thread that
//! waits is pushed first, and then decrements the count; an operation that finds that one thread
//! may go on pops one. So the queue has at least as many threads as operations that pop.

use std::ptr::{self, NonNull};

use crossbeam_queue::SegQueue;
use locksley_sys::primitive::{AtomicI64, Ordering};

use crate::context::Context;
use crate::worker::{Queued, Ready, Worker};

/// A counting semaphore on which threads block.
pub struct Semaphore {
    /// Units that are there; negative while threads wait.
    count: AtomicI64,
    threads: SegQueue<Queued>,
}

impl Semaphore {
    /// Makes a semaphore with this many units.
    pub fn new(units: u32) -> Semaphore {
        Semaphore { count: AtomicI64::new(units.into()), threads: SegQueue::new() }
    }

    /// P: takes a unit, or blocks the thread until there is one.
    pub fn acquire(&self, context: &Context<'_>) {
        let less = |count: i64| (count > 0).then_some(count - 1);
        // Acquire pairs with the release of a unit.
        if self.count.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).is_err() {
            context.fiber().wait(enqueue, ptr::from_ref(self).cast(), 0);
        }
    }

    /// V: gives a unit back. If threads wait, unblocks one.
    pub fn release(&self, context: &Context<'_>) {
        // Release pairs with the acquire of a unit; acquire with the push of a thread that waits.
        if self.count.fetch_add(1, Ordering::AcqRel) < 0 {
            self.unblock_one(context.worker());
        }
    }

    fn unblock_one(&self, worker: &Worker) {
        let thread = self.threads.pop().expect("a thread was pushed before the count was changed");
        worker.unblock(thread.0);
    }
}

/// Enqueues a suspended thread.
///
/// # Safety
/// `of` is the semaphore for which the thread waits. Until this has changed the count, one of the
/// threads that wait stays in the queue, and its borrow keeps the semaphore alive.
unsafe fn enqueue(of: *const (), _: i64, thread: NonNull<Ready>, worker: &Worker) -> bool {
    // SAFETY: it lives until the last use below, as said above.
    let semaphore = unsafe { &*of.cast::<Semaphore>() };
    semaphore.threads.push(Queued(thread));
    // Release: what pops sees the push. Acquire: a unit may have come meanwhile, with what was done
    // before it.
    if semaphore.count.fetch_sub(1, Ordering::AcqRel) > 0 {
        semaphore.unblock_one(worker);
    }
    true
}
