//! Lock-free lazy initialization.

use std::marker::PhantomData;
use std::ptr;

use crate::primitive::{AtomicPtr, Ordering};

/// A value that one thread makes. If several threads make one at the same time, one value is kept,
/// and no thread waits for another.
pub(super) struct Lazy<T>(AtomicPtr<T>, PhantomData<T>);

impl<T> Lazy<T> {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        let published = || self.get().expect("another thread has published one");
        self.get().unwrap_or_else(|| self.publish(make()).unwrap_or_else(|_| published()))
    }

    fn get(&self) -> Option<&T> {
        // Acquire pairs with the release in `publish`: the value is seen as it was made.
        // SAFETY: null, or published, and freed only by `take`, which borrows this exclusively.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Publishes a value. Returns it as an error if another one was published before.
    pub(super) fn publish(&self, made: T) -> Result<&T, T> {
        let made = Box::into_raw(Box::new(made));
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        match self.0.compare_exchange(ptr::null_mut(), made, success, failure) {
            // SAFETY: as in `get`.
            Ok(_) => Ok(unsafe { &*made }),
            // SAFETY: made above, and not published.
            Err(_) => Err(*unsafe { Box::from_raw(made) }),
        }
    }

    pub(super) fn take(&mut self) -> Option<T> {
        let made = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: null, or published, and `&mut self`: no other thread uses it.
        (!made.is_null()).then(|| *unsafe { Box::from_raw(made) })
    }
}

impl<T> Drop for Lazy<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
