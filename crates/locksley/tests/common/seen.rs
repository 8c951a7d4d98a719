//! A lock that ThreadSanitizer sees. std's is compiled without it, so accesses that it orders look
//! like races.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub(crate) struct Lock<T> {
    is_taken: AtomicBool,
    inside: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value.
unsafe impl<T: Send> Sync for Lock<T> {}

pub(crate) struct Locked<'l, T>(&'l Lock<T>);

impl<T> Lock<T> {
    pub(crate) fn lock(&self) -> Locked<'_, T> {
        // Acquire pairs with the release of the previous holder.
        while self.is_taken.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        Locked(self)
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this holds the lock.
        unsafe { &*self.0.inside.get() }
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and borrowed mutably.
        unsafe { &mut *self.0.inside.get() }
    }
}

impl<T> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}
