//! The slots of a channel: a ring, and the larger ring that replaces it when the channel grows.
//!
//! Growing copies nothing. The producer notes at which index the old ring ends and continues in the
//! new one. The consumer follows when it reaches that index, and frees the ring that it leaves.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use locksley::extend::{self, Stamp};
use locksley_sys::primitive::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// The end of the ring that is in use: no message has so high an index.
const OPEN: u64 = u64::MAX;

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// A ring. The message with index `i` lies in slot `i` modulo the number of slots, a power of two.
pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// In an observed pool, the stamp of each message, under the same index.
    stamps: Option<Box<[UnsafeCell<Stamp>]>>,
    /// Messages from this index on lie in the next ring. Written once, by the producer.
    end: AtomicU64,
    next: AtomicPtr<Ring<T>>,
}

/// The slots of a ring. Each end keeps its own copy, so that a message does not read the ring.
pub(crate) struct Slots<T> {
    first: NonNull<Slot<T>>,
    mask: usize,
}

impl<T> Slots<T> {
    /// Those of an end that has no ring yet.
    pub(crate) fn none() -> Self {
        Self { first: NonNull::dangling(), mask: 0 }
    }

    /// # Safety
    /// The ring is alive.
    #[inline]
    unsafe fn slot(&self, index: u64) -> &Slot<T> {
        // SAFETY: the mask keeps the offset below the number of slots.
        let slot = unsafe { self.first.add(index as usize & self.mask) };
        // SAFETY: a slot of a ring that is alive, as the caller promises; it is only shared.
        unsafe { slot.as_ref() }
    }

    /// Puts a message into its slot.
    ///
    /// # Safety
    /// The ring is alive. The caller is the producer, has seen that the slot's last message was
    /// taken, and has not published the index.
    #[inline]
    pub(crate) unsafe fn put(&self, index: u64, message: T) {
        // SAFETY: as the caller promises.
        unsafe { self.slot(index) }.with_mut(|slot| {
            // SAFETY: until the index is published, the slot is the producer's.
            unsafe { slot.write(MaybeUninit::new(message)) };
        });
    }

    /// Takes a message out.
    ///
    /// # Safety
    /// The ring is alive. The caller is the consumer, has seen that the index is published, and
    /// takes it once, before it says so.
    #[inline]
    pub(crate) unsafe fn take(&self, index: u64) -> T {
        // SAFETY: as the caller promises.
        unsafe { self.slot(index) }.with_mut(|slot| {
            // SAFETY: until the consumer says that it has taken the message, the slot is its own.
            let message = unsafe { slot.read() };
            // SAFETY: it was published, so it was put there.
            unsafe { message.assume_init() }
        })
    }
}

impl<T> Ring<T> {
    /// A ring with room for that many messages. It is freed by [`free`](Self::free).
    pub(crate) fn allocate(capacity: u64, is_observed: bool) -> NonNull<Self> {
        let slots = usize::try_from(capacity).ok().and_then(usize::checked_next_power_of_two);
        let slots = slots.expect("a channel's capacity fits into memory");
        let stamp = |_| UnsafeCell::new(Stamp::default());
        let ring = Self {
            slots: (0..slots).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
            stamps: is_observed.then(|| (0..slots).map(stamp).collect()),
            end: AtomicU64::new(OPEN),
            next: AtomicPtr::new(ptr::null_mut()),
        };
        NonNull::from(Box::leak(Box::new(ring)))
    }

    /// # Safety
    /// Made by `allocate`, and not used again. Messages in it are not dropped.
    pub(crate) unsafe fn free(ring: NonNull<Self>) {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(ring.as_ptr()) });
    }

    pub(crate) fn slots(&self) -> Slots<T> {
        Slots { first: NonNull::from(&*self.slots).cast(), mask: self.slots.len() - 1 }
    }

    /// How many messages there is room for.
    pub(crate) fn room(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Stamps a message.
    ///
    /// # Safety
    /// As for [`Slots::put`].
    pub(crate) unsafe fn stamp(&self, index: u64) {
        if let Some(stamps) = &self.stamps {
            stamps[index as usize & (stamps.len() - 1)].with_mut(|stamp| {
                // SAFETY: until the index is published, the stamp is the producer's.
                unsafe { *stamp = extend::stamp().unwrap_or_default() }
            });
        }
    }

    /// Has the caller come after the task that sent a message.
    ///
    /// # Safety
    /// As for [`Slots::take`].
    pub(crate) unsafe fn follow(&self, index: u64) {
        if let Some(stamps) = &self.stamps {
            let stamp = &stamps[index as usize & (stamps.len() - 1)];
            // SAFETY: until the consumer says that it has taken the message, the stamp is its own.
            extend::follow(stamp.with(|stamp| unsafe { *stamp }));
        }
    }

    /// Ends this ring at an index, and returns the ring after it.
    pub(crate) fn replace(&self, index: u64, capacity: u64) -> NonNull<Self> {
        let next = Self::allocate(capacity, self.stamps.is_some());
        self.next.store(next.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire in `end`: the end is seen with the ring after it.
        self.end.store(index, Ordering::Release);
        next
    }

    /// Where the ring ends. Exact for the consumer up to the highest index that it has seen.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The ring after this one, if there is one.
    pub(crate) fn next(&self) -> Option<NonNull<Self>> {
        // Relaxed: read after `end`, which has acquired it.
        NonNull::new(self.next.load(Ordering::Relaxed))
    }
}
