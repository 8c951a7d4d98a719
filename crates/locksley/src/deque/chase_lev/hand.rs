//! What the owner's push needs, at hand; and a place that it can be led to instead of the deque.

use std::cell::Cell;
use std::ptr;
use std::ptr::NonNull;

use super::{OPEN_CEILING, OPEN_FLOOR, Owners};
use crate::os::light_barrier;
use crate::primitive::{AtomicI64, AtomicPtr, Ordering};

/// The way to a ring, and to the words that go with it.
#[derive(Debug)]
#[repr(C)] // what is used most first: shorter instructions
pub(super) struct Hand<T> {
    owners: Cell<NonNull<Owners>>,
    /// The first of the slots, and their number less 1.
    slots: Cell<NonNull<AtomicPtr<T>>>,
    mask: Cell<usize>,
}

impl<T> Hand<T> {
    /// # Safety
    /// Both outlive the hand's use. The number of slots is a power of two.
    pub(super) unsafe fn to(owners: &Owners, slots: &[AtomicPtr<T>]) -> Self {
        Self {
            owners: Cell::new(NonNull::from(owners)),
            slots: Cell::new(NonNull::from(slots).cast()),
            mask: Cell::new(slots.len() - 1),
        }
    }

    #[inline]
    pub(super) fn owners(&self) -> &Owners {
        // SAFETY: alive, as whoever made the hand has promised, and only shared references are made of it.
        unsafe { self.owners.get().as_ref() }
    }

    /// The slot for an index.
    #[inline]
    pub(super) fn slot(&self, index: i64) -> &AtomicPtr<T> {
        // SAFETY: the number of slots is a power of two, so the mask keeps the index below it.
        let slot = unsafe { self.slots.get().add(index as usize & self.mask.get()) };
        // SAFETY: alive, as whoever led the hand there has promised.
        unsafe { slot.as_ref() }
    }

    pub(super) fn capacity(&self) -> i64 {
        self.mask.get() as i64 + 1
    }

    /// See [`ChaseLevOwner::push`](super::ChaseLevOwner::push).
    #[inline]
    pub(super) fn push(&self, item: NonNull<T>) -> (i64, bool) {
        let owners = self.owners();
        let bottom = owners.bottom.load(Ordering::Relaxed);
        // There is room for one: each push sees to it that there is for the next.
        // Relaxed: the release of `bottom` publishes it.
        self.slot(bottom).store(item.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `steal_oldest`: who sees the index sees the slot, and what the
        // item points to.
        owners.bottom.store(bottom + 1, Ordering::Release);
        // Pairs with the heavy barrier between `ask` and `open`: either we see that we are asked, or whoever opens
        // the deque sees the item.
        light_barrier();
        (bottom, bottom + 1 < owners.ceiling.load(Ordering::Relaxed))
    }

    /// Leads where that one leads. Who made it has promised the same for both.
    pub(super) fn take_after(&self, other: &Self) {
        self.owners.set(other.owners.get());
        self.slots.set(other.slots.get());
        self.mask.set(other.mask.get());
    }

    pub(super) fn is_like(&self, other: &Self) -> bool {
        ptr::eq(self.owners(), other.owners())
    }

    /// # Safety
    /// The ring outlives the hand's use. The number of slots is a power of two.
    pub(super) unsafe fn go_to_ring(&self, slots: &[AtomicPtr<T>]) {
        self.slots.set(NonNull::from(slots).cast());
        self.mask.set(slots.len() - 1);
    }
}

/// A ring of one slot that nobody reads, whose ceiling every push reaches.
#[derive(Debug)]
pub(super) struct NullRing<T> {
    owners: Owners,
    slots: [AtomicPtr<T>; 1],
}

impl<T> NullRing<T> {
    pub(super) fn new() -> Box<Self> {
        let owners = Owners {
            bottom: AtomicI64::new(0),
            floor: AtomicI64::new(OPEN_FLOOR),
            ceiling: AtomicI64::new(OPEN_CEILING),
        };
        Box::new(Self { owners, slots: [AtomicPtr::new(ptr::null_mut())] })
    }

    /// The way there.
    ///
    /// # Safety
    /// This is not moved, and outlives the hand's use.
    pub(super) unsafe fn hand(&self) -> Hand<T> {
        // SAFETY: as the caller promises; and 1 is a power of two.
        unsafe { Hand::to(&self.owners, &self.slots) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr::{self, NonNull};

    use crate::deque::{Owner, Steal, TakeBack, Thief, chase_lev};

    fn item(number: usize) -> NonNull<u64> {
        NonNull::new(ptr::without_provenance_mut(number * 8 + 8)).unwrap()
    }

    #[test]
    fn redirected_pushes_add_nothing() {
        let (owner, thief) = chase_lev(false);
        owner.push_new(item(0));
        owner.redirect();
        for number in 1..100 {
            let (_, is_done) = owner.push(item(number));
            assert!(!is_done, "each push says that there is more to do");
        }
        assert_eq!(thief.steal_oldest(), Steal::Taken(item(0)));
        assert_eq!(thief.steal_oldest(), Steal::Empty);
        assert_eq!(owner.pop_newest(), None);
    }

    /// The real ring grows meanwhile.
    #[test]
    fn the_deque_is_used_while_pushes_are_redirected() {
        let (owner, thief) = chase_lev(false);
        owner.redirect();
        let mut indices = Vec::new();
        for number in 0..100 {
            let _ = owner.push(item(1000));
            let (index, is_done) = owner.push_real(item(number));
            if !is_done {
                let _ = owner.at_the_ceiling(index);
            }
            indices.push(index);
        }
        assert_eq!(thief.steal_oldest(), Steal::Taken(item(0)));
        for number in (1..100).rev() {
            let taken = match owner.take_back(indices[number]) {
                TakeBack::Taken => true,
                TakeBack::Buried => false,
                TakeBack::Lowered => owner.pop_lowered(indices[number]).is_some(),
            };
            assert!(taken);
        }
    }
}
