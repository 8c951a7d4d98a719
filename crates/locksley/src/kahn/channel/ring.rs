//! Where a channel's messages lie: a ring of slots, and after it the larger one that took its place when the channel grew.
//!
//! Nothing is copied when a channel grows. The producer notes at which index the ring ends and goes on in a new one; the consumer
//! follows when it comes to that index, and frees the ring that it leaves.

use std::alloc::{self, Layout};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use crate::primitive::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// No message has so high an index: the ring is the one in use.
const OPEN: u64 = u64::MAX;

/// A ring, the slots of which follow it in the same allocation. The message with an index lies in the slot of that number modulo the slots,
/// a power of two.
#[repr(C)]
pub(super) struct Ring<T> {
    /// The number of slots less 1.
    mask: usize,
    /// From which index on messages lie in the ring after this one. Written once, by the producer.
    end: AtomicU64,
    next: AtomicPtr<Ring<T>>,
    slots: [Slot<T>; 0],
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

impl<T> Ring<T> {
    /// How many slots a ring has that holds so many messages, and its memory. `None` if no memory holds it.
    fn layout(capacity: u64) -> Option<(usize, Layout)> {
        let slots = usize::try_from(capacity).ok().and_then(usize::checked_next_power_of_two)?;
        let behind = Layout::array::<Slot<T>>(slots).ok()?;
        let (layout, first) = Layout::new::<Self>().extend(behind).ok()?;
        debug_assert_eq!(first, std::mem::offset_of!(Self, slots));
        Some((slots, layout.pad_to_align()))
    }

    /// Whether there can be a ring with room for so many.
    pub(super) fn is_possible(capacity: u64) -> bool {
        Self::layout(capacity).is_some()
    }

    /// A ring with room for so many, on the heap.
    pub(super) fn allocated(capacity: u64) -> NonNull<Self> {
        let (slots, layout) =
            Self::layout(capacity).expect("a channel's capacity fits into memory");
        // SAFETY: it is as large as a ring at least, and so not of size 0.
        let memory = unsafe { alloc::alloc(layout) };
        let Some(ring) = NonNull::new(memory.cast::<Self>()) else {
            alloc::handle_alloc_error(layout)
        };
        let (end, next) = (AtomicU64::new(OPEN), AtomicPtr::new(ptr::null_mut()));
        let this = Self { mask: slots - 1, end, next, slots: [] };
        // SAFETY: just allocated, with its layout at the beginning.
        unsafe { ring.write(this) };
        if cfg!(loom) {
            // SAFETY: just made.
            let first = unsafe { Self::first_slot(ring) };
            for slot in 0..slots {
                // SAFETY: there are so many slots behind it.
                let place = unsafe { first.add(slot) };
                // SAFETY: ours alone; what the model checker keeps of a cell has to be there. In others there is nothing but the message.
                unsafe { place.write(UnsafeCell::new(MaybeUninit::uninit())) };
            }
        }
        ring
    }

    /// # Safety
    /// Made by `allocated`, and not freed.
    unsafe fn first_slot(ring: NonNull<Self>) -> NonNull<Slot<T>> {
        // SAFETY: a field of what is alive. The pointer is that to all of the allocation, and so is what is made of it.
        let slots = unsafe { &raw mut (*ring.as_ptr()).slots };
        NonNull::new(slots.cast()).expect("inside of what is alive")
    }

    pub(super) fn slots(&self) -> u64 {
        self.mask as u64 + 1
    }

    /// # Safety
    /// Made by `allocated`, and not freed as long as this is used.
    #[inline]
    unsafe fn slot<'r>(ring: NonNull<Self>, index: u64) -> &'r Slot<T> {
        // SAFETY: as the caller promises.
        let mask = unsafe { ring.as_ref() }.mask;
        // SAFETY: as the caller promises.
        let first = unsafe { Self::first_slot(ring) };
        // SAFETY: the number of slots is a power of two, so the mask keeps the place below it.
        let slot = unsafe { first.add(index as usize & mask) };
        // SAFETY: in the ring; a cell of what may have no value is a cell.
        unsafe { slot.as_ref() }
    }

    /// Puts a message where nobody looks yet.
    ///
    /// # Safety
    /// The ring is alive. The caller is the producer; the slot's last message was taken, which the caller has seen; and the index is not
    /// published.
    #[inline]
    pub(super) unsafe fn put(ring: NonNull<Self>, index: u64, message: T) {
        // SAFETY: as the caller promises.
        unsafe { Self::slot(ring, index) }.with_mut(|slot| {
            // SAFETY: ours alone, as the caller promises.
            unsafe { slot.write(MaybeUninit::new(message)) };
        });
    }

    /// Takes a message out.
    ///
    /// # Safety
    /// The ring is alive. The caller is the consumer, has seen that the index was published, and takes it once, before it says so.
    #[inline]
    pub(super) unsafe fn take(ring: NonNull<Self>, index: u64) -> T {
        // SAFETY: as the caller promises.
        unsafe { Self::slot(ring, index) }.with_mut(|slot| {
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
        let slots = unsafe { ring.as_ref() }.slots();
        let (count, layout) = Self::layout(slots).expect("it was allocated");
        if cfg!(loom) {
            // SAFETY: as the caller promises.
            let first = unsafe { Self::first_slot(ring) };
            // SAFETY: written by `allocated`; what is in them is not dropped, as it may not be there.
            unsafe { ptr::slice_from_raw_parts_mut(first.as_ptr(), count).drop_in_place() };
        }
        // SAFETY: as the caller promises.
        unsafe { ring.drop_in_place() };
        // SAFETY: allocated with that layout: `layout` of the number of slots is that of the capacity.
        unsafe { alloc::dealloc(ring.as_ptr().cast(), layout) };
    }
}
