//! The slots of a pool's guests.

use std::ptr;

use crate::deque::OwnDeque;
use crate::header::Job;
use crate::primitive::{AtomicPtr, AtomicUsize, Ordering};

/// The slots of a pool's guests.
pub(crate) struct Guests {
    /// The owner's handle of each slot's deque. Null while a guest uses the slot.
    deques: Box<[AtomicPtr<OwnDeque<Job>>]>,
    /// The number of slots up to the last one that a guest ever had. A hint for thieves.
    used: AtomicUsize,
}

impl Guests {
    /// One slot for each of `deques`.
    pub(crate) fn new(deques: impl Iterator<Item = OwnDeque<Job>>) -> Self {
        let boxed = |deque| AtomicPtr::new(Box::into_raw(Box::new(deque)));
        Self { deques: deques.map(boxed).collect(), used: AtomicUsize::new(0) }
    }

    pub(crate) fn count(&self) -> usize {
        self.deques.len()
    }

    /// The number of slots up to the last one that a guest ever had.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes a slot that is free: its number among the guests, and its deque.
    pub(crate) fn take(&self) -> Option<(usize, OwnDeque<Job>)> {
        self.deques.iter().enumerate().find_map(|(guest, deque)| {
            // Acquire pairs with the release in `put_back`: the previous guest's writes are seen.
            let taken = deque.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: not null, so from `into_raw`; the swap gave it to this thread alone.
            let deque = (!taken.is_null()).then(|| *unsafe { Box::from_raw(taken) })?;
            if self.used() <= guest {
                self.used.fetch_max(guest + 1, Ordering::Relaxed);
            }
            Some((guest, deque))
        })
    }

    pub(crate) fn put_back(&self, guest: usize, deque: OwnDeque<Job>) {
        self.deques[guest].store(Box::into_raw(Box::new(deque)), Ordering::Release);
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        while let Some(free) = self.take() {
            drop(free);
        }
    }
}
