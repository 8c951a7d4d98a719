//! A lock in one word, which is the program's own memory for `omp_lock_t` and `critical`.
//!
//! States: 0 free; 1 held; 2 held, and threads may sleep (Drepper, "Futexes are tricky", 2011).

use locksley_sys::primitive::{AtomicU32, Ordering, const_unless_loom};

use super::futex;
use super::patience::{Patience, yield_if_oversubscribed};
use crate::race_detector;

/// A lock. All zeros is a free one.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Lock(AtomicU32);

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

impl Lock {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(FREE))
        }
    }

    /// True if the lock was free.
    pub(crate) fn try_acquire(&self) -> bool {
        // Acquire: pairs with the release in `release`.
        let is_free =
            self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if is_free {
            race_detector::acquire(self);
        }
        is_free
    }

    pub(crate) fn acquire(&self) {
        if self.try_acquire() {
            return;
        }
        let mut patience = Patience::new();
        while patience.pause() {
            if self.0.load(Ordering::Relaxed) == FREE && self.try_acquire() {
                return;
            }
        }
        // Acquire: pairs with the release in `release`.
        while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            futex::wait(&self.0, CONTENDED);
        }
        race_detector::acquire(self);
    }

    pub(crate) fn release(&self) {
        race_detector::release(self);
        // Release: pairs with the acquire of the next holder.
        if self.0.swap(FREE, Ordering::Release) == CONTENDED {
            futex::wake(&self.0, 1, 1);
            // Otherwise this thread may take the lock again, and again, while no other one has a
            // processor: eight threads that poll in a critical section beside other programs took
            // 1.5 times as long. To yield only after a thread was woken made it worse.
            yield_if_oversubscribed();
        }
    }
}
