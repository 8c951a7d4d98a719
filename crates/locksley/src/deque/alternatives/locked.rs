//! A deque that is a ring in a lock. Each operation takes the lock, including those of the owner.
//!
//! Hood's study has two: a caller that finds the lock taken spins in one, and blocks in the other.
//! Both break law 2: a thread that is suspended while it holds the lock stops all callers.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::deque::contract::{Alternative, Steal};
use crate::primitive::spin_loop;

/// A ring in a lock.
///
/// The lock is the mutex of the standard library, which makes no system call if it is free.
pub(crate) struct Locked<T> {
    ring: Mutex<VecDeque<NonNull<T>>>,
    /// True if callers that find the lock taken spin. Otherwise they try about a hundred times, and
    /// then block.
    spins: bool,
    /// The number of callers that found the lock taken, including those that still wait.
    pub(in crate::deque) waits: AtomicU64,
    /// The total time of the waits that have ended, in nanoseconds.
    waited: AtomicU64,
}

// SAFETY: items are opaque words here. The code that makes a deque answers for items that may
// change threads (jobs may: see `job.rs`).
unsafe impl<T> Send for Locked<T> {}
// SAFETY: as above. One thread at a time reaches the ring: the one that holds the lock.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) fn new(spins: bool) -> Self {
        let (ring, waits, waited) = Default::default();
        Self { ring, spins, waits, waited }
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<NonNull<T>>> {
        self.try_ring().unwrap_or_else(|| self.wait())
    }

    fn try_ring(&self) -> Option<MutexGuard<'_, VecDeque<NonNull<T>>>> {
        step();
        let held = self.ring.try_lock().ok();
        step();
        held
    }

    fn wait(&self) -> MutexGuard<'_, VecDeque<NonNull<T>>> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let held = loop {
            if !self.spins {
                break self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            }
            spin_loop();
            if let Some(held) = self.try_ring() {
                break held;
            }
        };
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waited.fetch_add(waited, Ordering::Relaxed);
        held
    }
}

impl<T> Alternative<T> for Locked<T> {
    fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        self.ring().push_back(item);
        Ok(())
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.ring().pop_back()
    }

    fn steal_oldest(&self) -> Steal<T> {
        self.ring().pop_front().map_or(Steal::Empty, Steal::Taken)
    }

    fn is_empty(&self) -> bool {
        self.ring().is_empty()
    }

    fn lock_wait(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }
}

/// Lets the stall harness hold a thread here: it does not see the atomics of std's mutex.
fn step() {
    #[cfg(all(test, debug_assertions, not(loom)))]
    crate::primitive::stepped::step();
}
