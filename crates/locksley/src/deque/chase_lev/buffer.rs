//! The ring of slots under a growable deque.

use std::ptr::NonNull;

use crate::primitive::{AtomicPtr, Ordering};

/// A ring whose slots are one atomic word each, so that a thief may read a slot while the owner writes it.
///
/// A grown ring owns the one it replaced, because a thief may still be reading there. All rings of a deque are freed
/// together with the deque. Capacities double, so the replaced ones together are smaller than the one in use.
#[derive(Debug)]
pub(super) struct Buffer<T> {
    slots: Box<[AtomicPtr<T>]>,
    replaced: *mut Buffer<T>,
}

impl<T> Buffer<T> {
    /// A ring of `capacity` slots, a power of two.
    pub(super) fn new(capacity: usize) -> Box<Self> {
        debug_assert!(capacity.is_power_of_two());
        let slots = (0..capacity).map(|_| AtomicPtr::new(std::ptr::null_mut()));
        Box::new(Self { slots: slots.collect(), replaced: std::ptr::null_mut() })
    }

    /// A ring of twice the capacity that holds the items of `range`, and takes over `old`.
    ///
    /// # Panics
    /// If the new capacity were more than half of what an [`Age`](super::age::Age) can count. The caller makes sure that
    /// this ends the process.
    ///
    /// # Safety
    /// `old` is this deque's ring in use, made by `Box::into_raw`, and only the owner replaces it.
    pub(super) unsafe fn grown_from(old: *mut Self, range: std::ops::Range<i64>) -> Box<Self> {
        // SAFETY: in use, so alive; thieves, too, have shared references only.
        let ring = unsafe { &*old };
        assert!(ring.slots.len() < 1 << 30, "a deque of more than 2^30 tasks");
        let mut new = Self::new(ring.slots.len() * 2);
        for index in range {
            new.slot(index).store(ring.slot(index).load(Ordering::Relaxed), Ordering::Relaxed);
        }
        new.replaced = old;
        new
    }

    /// The slots, a power of two in number: the item for an index lies in the slot of that number modulo theirs.
    pub(super) fn slots(&self) -> &[AtomicPtr<T>] {
        &self.slots
    }

    /// The item last put at `index`, or null in a slot that was never used.
    pub(super) fn get(&self, index: i64) -> Option<NonNull<T>> {
        // Relaxed: whoever is entitled to the item has acquired the `bottom` that published it.
        NonNull::new(self.slot(index).load(Ordering::Relaxed))
    }

    fn slot(&self, index: i64) -> &AtomicPtr<T> {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if !self.replaced.is_null() {
            // SAFETY: made by `Box::into_raw` and handed over to us. Nobody reads it any more: it goes with the deque.
            drop(unsafe { Box::from_raw(self.replaced) });
        }
    }
}
