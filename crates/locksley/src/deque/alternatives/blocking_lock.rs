//! A lock whose callers block: the system's mutex, as in Hood's study (1998, section 4).
//!
//! The standard library's takes no system call where it is free, unlike Solaris's then; where it is taken, a caller
//! tries some hundred times before it blocks.

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

/// The standard library's mutex is not made of the stall harness's atomics: here it can hold a thread all the same.
fn step() {
    #[cfg(all(test, debug_assertions, not(loom)))]
    crate::primitive::stepped::step();
}
