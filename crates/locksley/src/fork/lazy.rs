//! What is made when it is wanted first, by whoever wants it: nobody waits for whoever makes it.

use std::marker::PhantomData;
use std::ptr;

use crate::primitive::{AtomicPtr, Ordering};

/// Null until then.
pub(super) struct Lazy<T>(AtomicPtr<T>, PhantomData<T>);

impl<T> Lazy<T> {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    pub(super) fn get(&self) -> Option<&T> {
        // Acquire pairs with the release below: it is seen as it was made.
        // SAFETY: null, or made below, and freed with this only.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.get().unwrap_or_else(|| self.keep(make()))
    }

    /// Of several that were made at the same time, one prevails.
    fn keep(&self, made: T) -> &T {
        let made = Box::into_raw(Box::new(made));
        let kept =
            self.0.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        let prevails = match kept {
            Ok(_) => made,
            Err(other) => {
                // SAFETY: made above, and not shown to anybody.
                drop(unsafe { Box::from_raw(made) });
                other
            }
        };
        // SAFETY: made here, and freed with this only.
        unsafe { &*prevails }
    }
}

impl<T> Drop for Lazy<T> {
    fn drop(&mut self) {
        let made = self.0.load(Ordering::Acquire);
        if !made.is_null() {
            // SAFETY: made by `keep`; `&mut self`: nobody else is here.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
