//! Where a channel's messages lie: a ring of slots, and after it the larger one that took its place when the channel grew.
//!
//! Nothing is copied when a channel grows. The producer notes at which index the ring ends and goes on in a new one; the consumer
//! follows when it comes to that index, and frees the ring that it leaves.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::primitive::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// No message has so high an index: the ring is the one in use.
const OPEN: u64 = u64::MAX;

/// A ring. The message with an index lies in the slot of that number modulo the slots, a power of two.
pub(super) struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// From which index on messages lie in the ring after this one. Written once, by the producer.
    end: AtomicU64,
    next: AtomicPtr<Ring<T>>,
}

impl<T> Ring<T> {
    /// A ring with room for so many, on the heap.
    pub(super) fn allocated(capacity: u64) -> NonNull<Self> {
        let slots = usize::try_from(capacity).ok().and_then(usize::checked_next_power_of_two);
        let slots = slots.expect("a channel's capacity fits into memory");
        let slots = (0..slots).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
        let (end, next) = (AtomicU64::new(OPEN), AtomicPtr::new(std::ptr::null_mut()));
        NonNull::from(Box::leak(Box::new(Self { slots, end, next })))
    }

    pub(super) fn slots(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, index: u64) -> &UnsafeCell<MaybeUninit<T>> {
        let place = index as usize & (self.slots.len() - 1);
        debug_assert!(place < self.slots.len());
        // SAFETY: the number of slots is a power of two, so the mask keeps the place below it.
        unsafe { self.slots.get_unchecked(place) }
    }

    /// Puts a message where nobody looks yet.
    ///
    /// # Safety
    /// The caller is the producer; the slot's last message was taken, which the caller has seen; and the index is not published.
    #[inline]
    pub(super) unsafe fn put(&self, index: u64, message: T) {
        self.slot(index).with_mut(|slot| {
            // SAFETY: ours alone, as the caller promises.
            unsafe { slot.write(MaybeUninit::new(message)) };
        });
    }

    /// Takes a message out.
    ///
    /// # Safety
    /// The caller is the consumer, has seen that the index was published, and takes it once, before it says so.
    #[inline]
    pub(super) unsafe fn take(&self, index: u64) -> T {
        self.slot(index).with_mut(|slot| {
            // SAFETY: ours alone, as the caller promises.
            let message = unsafe { slot.read() };
            // SAFETY: it was published, so it was put there.
            unsafe { message.assume_init() }
        })
    }

    /// Ends this ring at an index, from which on another one is used, which is returned.
    pub(super) fn replace(&self, index: u64, capacity: u64) -> NonNull<Self> {
        let next = Self::allocated(capacity);
        self.next.store(next.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire in `end`: who sees the end sees the ring after it.
        self.end.store(index, Ordering::Release);
        next
    }

    /// Where it ends. Exact for the consumer up to the highest index that it has seen published.
    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The ring after this one, if there is one.
    pub(super) fn next(&self) -> Option<NonNull<Self>> {
        // Relaxed: read after `end`, which has acquired it.
        NonNull::new(self.next.load(Ordering::Relaxed))
    }

    /// Frees a ring, not what is in it.
    ///
    /// # Safety
    /// Made by `allocated`, and nobody uses it any more.
    pub(super) unsafe fn free(ring: NonNull<Self>) {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(ring.as_ptr()) });
    }
}
