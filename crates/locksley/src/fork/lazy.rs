//! Lock-free lazy initialization.

use std::marker::PhantomData;
use std::ptr;

use crate::primitive::{AtomicPtr, Ordering};

/// A value that the first access makes. If several threads make one at the same time, one value is
/// kept, and no thread waits for another.
pub(super) struct Lazy<T>(AtomicPtr<T>, PhantomData<T>);

impl<T> Lazy<T> {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    pub(super) fn get(&self) -> Option<&T> {
        // Acquire pairs with the release in `publish`: the value is seen as it was made.
        // SAFETY: null, or published, and freed only with this.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.get().unwrap_or_else(|| self.publish(make()))
    }

    /// Publishes a value, unless another thread has published one. Returns the published one.
    fn publish(&self, made: T) -> &T {
        let made = Box::into_raw(Box::new(made));
        let published =
            self.0.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        let winner = match published {
            Ok(_) => made,
            Err(other) => {
                // SAFETY: made above, and not published.
                drop(unsafe { Box::from_raw(made) });
                other
            }
        };
        // SAFETY: published, and freed only with this.
        unsafe { &*winner }
    }
}

impl<T> Drop for Lazy<T> {
    fn drop(&mut self) {
        let made = self.0.load(Ordering::Acquire);
        if !made.is_null() {
            // SAFETY: published, and `&mut self`: no other thread uses it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
