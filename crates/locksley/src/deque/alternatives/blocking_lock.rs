//! A lock with callers that block: the system's mutex, as in Hood's study (1998, section 4).
//!
//! The mutex of the standard library makes no system call if it is free. If it is taken, a caller
//! tries about a hundred times before it blocks.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::locked::{Lock, LockMeter};

/// A value behind a mutex.
#[derive(Debug)]
pub(crate) struct BlockingLock<V>(Mutex<V>);

impl<V> BlockingLock<V> {
    fn acquire(&self, meter: &LockMeter) -> MutexGuard<'_, V> {
        step();
        match self.0.try_lock() {
            Ok(held) => held,
            Err(TryLockError::WouldBlock) => {
                meter.time(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
        }
    }
}

impl<V: Send> Lock<V> for BlockingLock<V> {
    fn around(value: V) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, meter: &LockMeter, operation: impl FnOnce(&mut V) -> R) -> R {
        let mut held = self.acquire(meter);
        step();
        operation(&mut held)
    }
}

/// Lets the stall harness hold a thread here: it does not see the atomics of std's mutex.
fn step() {
    #[cfg(all(test, debug_assertions, not(loom)))]
    crate::primitive::stepped::step();
}
