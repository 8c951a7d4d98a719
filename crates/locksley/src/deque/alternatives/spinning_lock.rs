//! A lock whose callers spin: the "test-and-test-and-set" lock of Hood's study (1998, section 4).

use std::cell::UnsafeCell;

use super::locked::{Lock, LockMeter};
use crate::primitive::{AtomicBool, Ordering, spin_loop};

/// A value behind a word that says whether somebody has it.
#[derive(Debug)]
pub(crate) struct SpinningLock<V> {
    held: AtomicBool,
    value: UnsafeCell<V>,
}

// SAFETY: the value is reached by one thread at a time: by whoever set `held`, until it resets it.
unsafe impl<V: Send> Sync for SpinningLock<V> {}

impl<V> SpinningLock<V> {
    fn try_acquire(&self) -> bool {
        // Acquire pairs with the release in `Held`: we see what the holder before us did with the value.
        !self.held.swap(true, Ordering::Acquire)
    }

    fn acquire(&self, meter: &LockMeter) -> Held<'_> {
        if !self.try_acquire() {
            meter.time(|| {
                while !self.try_acquire() {
                    // Relaxed: only a hint. A read leaves the cache line where it is; the swap would not.
                    while self.held.load(Ordering::Relaxed) {
                        spin_loop();
                    }
                }
            });
        }
        Held(&self.held)
    }
}

/// Evidence that the caller holds the lock, which ends with it.
struct Held<'a>(&'a AtomicBool);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `try_acquire`.
        self.0.store(false, Ordering::Release);
    }
}

impl<V: Send> Lock<V> for SpinningLock<V> {
    fn around(value: V) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn with<R>(&self, meter: &LockMeter, operation: impl FnOnce(&mut V) -> R) -> R {
        let held = self.acquire(meter);
        // SAFETY: the lock is held, so no other reference exists, and this one ends before `held` does.
        let result = operation(unsafe { &mut *self.value.get() });
        drop(held);
        result
    }
}
