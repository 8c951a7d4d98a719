//! The futex and the barriers of the model checker (loom) or the randomized scheduler (shuttle).

use std::sync::PoisonError;

#[cfg(loom)]
use ::loom as simulator;
#[cfg(shuttle)]
use ::shuttle as simulator;
use simulator::sync::{Condvar, Mutex, MutexGuard};

use crate::primitive::{AtomicU32, Ordering, fence};

#[derive(Debug, Default)]
pub struct Futex {
    pub word: AtomicU32,
    /// The kernel's own lock on the word's wait queue: it makes the check of the word and the
    /// blocking one step.
    queue: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    /// A timeout is over at once, which is the most difficult case.
    pub fn wait(&self, expected: u32, timeout: Option<std::time::Duration>) {
        if timeout.is_some() {
            return simulator::thread::yield_now();
        }
        let queue = self.lock();
        if self.word.load(Ordering::Relaxed) == expected {
            drop(self.woken.wait(queue));
        }
    }

    pub fn wake(&self) {
        drop(self.lock());
        self.woken.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // Under shuttle, a thread that unwinds poisons the locks that other threads hold.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

simulator::lazy_static! {
    /// What both sides of an asymmetric barrier change, so that one of the two comes first and the
    /// other one sees what was done before it. A thread that makes no barrier learns nothing by it,
    /// as it should be. That two light sides are ordered as well is more than there is in truth: a
    /// model in which two threads that have something in common both make light barriers could not
    /// fail where it should. So no two owners of deques may share anything, and a thread that comes
    /// to a network of one worker makes none.
    static ref BARRIER: AtomicU32 = AtomicU32::new(0);
}

pub fn light_barrier() {
    BARRIER.fetch_add(0, Ordering::AcqRel);
}

pub fn heavy_barrier() -> bool {
    BARRIER.fetch_add(0, Ordering::AcqRel);
    fence(Ordering::SeqCst);
    true
}

pub fn heavy_barrier_works() -> bool {
    true
}
