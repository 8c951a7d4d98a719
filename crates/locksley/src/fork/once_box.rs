//! Lock-free lazy initialization.

use std::marker::PhantomData;
use std::ptr;

use crate::primitive::{AtomicPtr, Ordering};

/// A value in a box, set once. If several threads set it at the same time, the first value is kept,
/// and no thread waits for another.
pub(super) struct OnceBox<T>(AtomicPtr<T>, PhantomData<T>);

impl<T> OnceBox<T> {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    pub(super) fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        let other = || self.get().expect("another thread has set the value");
        self.get().unwrap_or_else(|| self.set(init()).unwrap_or_else(|_| other()))
    }

    fn get(&self) -> Option<&T> {
        // Acquire pairs with the release in `set`: the contents of the box are seen.
        // SAFETY: null, or set, and freed only by `take`, which borrows this exclusively.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the value. Returns it as an error if another value was set before.
    pub(super) fn set(&self, value: T) -> Result<&T, T> {
        let value = Box::into_raw(Box::new(value));
        // Release pairs with the acquires in `get` and `take`. Relaxed on failure: the other value
        // is not accessed here.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        match self.0.compare_exchange(ptr::null_mut(), value, success, failure) {
            // SAFETY: as in `get`.
            Ok(_) => Ok(unsafe { &*value }),
            // SAFETY: boxed above, and seen by no other thread.
            Err(_) => Err(*unsafe { Box::from_raw(value) }),
        }
    }

    pub(super) fn take(&mut self) -> Option<T> {
        // Acquire pairs with the release in `set`.
        let value = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: null, or set, and `&mut self`: no other thread uses it.
        (!value.is_null()).then(|| *unsafe { Box::from_raw(value) })
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::OnceBox;

    #[test]
    fn the_first_value_is_kept_until_it_is_taken_or_dropped() {
        let (first, second) = (Arc::new(1), Arc::new(2));
        let mut once = OnceBox::new();
        assert_eq!(once.take(), None);
        assert_eq!(once.set(first.clone()), Ok(&first));
        assert_eq!(once.set(second.clone()), Err(second.clone()));
        assert_eq!(once.get_or_init(|| unreachable!()), &first);
        assert_eq!(once.take().as_ref(), Some(&first));
        assert_eq!(once.get_or_init(|| second.clone()), &second);
        drop(once);
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
    }
}
