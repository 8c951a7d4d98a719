//! The ring of slots under a growable deque.

use std::ptr::NonNull;

use crate::primitive::{AtomicPtr, Ordering};

/// A ring of atomic words, so that a thief may read a slot while the owner writes it.
///
/// A ring owns the smaller one that it replaced, because a thief may still read there. All rings
/// are freed with the deque. Capacities double, so the replaced rings together are smaller than the
/// one in use.
#[derive(Debug)]
pub(super) struct Buffer<T> {
    /// Their number is a power of two, and item `i` is in slot `i` modulo that number.
    pub(super) slots: Box<[AtomicPtr<T>]>,
    replaced: *mut Buffer<T>,
}

impl<T> Buffer<T> {
    /// Makes a ring of `capacity` slots, a power of two.
    pub(super) fn new(capacity: usize) -> Box<Self> {
        debug_assert!(capacity.is_power_of_two());
        let slots = (0..capacity).map(|_| AtomicPtr::new(std::ptr::null_mut()));
        Box::new(Self { slots: slots.collect(), replaced: std::ptr::null_mut() })
    }

    /// Makes a ring of twice the capacity, with the items of `range`. It owns `old`.
    ///
    /// # Panics
    /// If the new capacity were more than half of what an [`Age`](super::age::Age) can count. The
    /// caller makes this panic end the process.
    ///
    /// # Safety
    /// `old` is this deque's ring in use, made by `Box::into_raw`, and only the owner replaces it.
    pub(super) unsafe fn grown_from(old: *mut Self, range: std::ops::Range<i64>) -> Box<Self> {
        // SAFETY: in use, so alive. Thieves have shared references only.
        let ring = unsafe { &*old };
        assert!(ring.slots.len() < 1 << 30, "a deque of more than 2^30 tasks");
        let mut new = Self::new(ring.slots.len() * 2);
        for index in range {
            new.slot(index).store(ring.slot(index).load(Ordering::Relaxed), Ordering::Relaxed);
        }
        new.replaced = old;
        new
    }

    /// The item that was last written at `index`. `None` if the slot was never used.
    pub(super) fn get(&self, index: i64) -> Option<NonNull<T>> {
        // Relaxed: the caller has acquired the `bottom` that published the item.
        NonNull::new(self.slot(index).load(Ordering::Relaxed))
    }

    fn slot(&self, index: i64) -> &AtomicPtr<T> {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if !self.replaced.is_null() {
            // SAFETY: made by `Box::into_raw`, and owned by this. The deque is dropped, so no
            // thread reads it.
            drop(unsafe { Box::from_raw(self.replaced) });
        }
    }
}
