//! A handle with all that a push needs, and a null ring as another target for pushes.

use std::cell::Cell;
use std::ptr::NonNull;

use super::OwnerWords;
use super::owner::Pushed;
use crate::os::light_barrier;
use crate::primitive::{AtomicPtr, Ordering};

/// Pointers to a ring and to its [`OwnerWords`].
#[derive(Debug)]
#[repr(C)] // hot fields first: shorter instructions
pub(super) struct RingHandle<T> {
    words: Cell<NonNull<OwnerWords>>,
    /// The first slot.
    slots: Cell<NonNull<AtomicPtr<T>>>,
    /// The number of slots, less 1.
    mask: Cell<usize>,
}

impl<T> RingHandle<T> {
    /// # Safety
    /// Both outlive the handle's use. The number of slots is a power of two.
    pub(super) unsafe fn new(words: &OwnerWords, slots: &[AtomicPtr<T>]) -> Self {
        Self {
            words: Cell::new(NonNull::from(words)),
            slots: Cell::new(NonNull::from(slots).cast()),
            mask: Cell::new(slots.len() - 1),
        }
    }

    #[inline]
    pub(super) fn words(&self) -> &OwnerWords {
        // SAFETY: alive, as the maker of the handle promises, and only shared references exist.
        unsafe { self.words.get().as_ref() }
    }

    /// The slot of an index.
    #[inline]
    pub(super) fn slot(&self, index: i64) -> &AtomicPtr<T> {
        // SAFETY: the number of slots is a power of two, so the mask keeps the index below it.
        let slot = unsafe { self.slots.get().add(index as usize & self.mask.get()) };
        // SAFETY: alive, as the maker of the handle promises.
        unsafe { slot.as_ref() }
    }

    pub(super) fn capacity(&self) -> i64 {
        self.mask.get() as i64 + 1
    }

    /// See [`ChaseLevOwner::push`](super::ChaseLevOwner::push).
    #[inline]
    pub(super) fn push(&self, item: NonNull<T>) -> Pushed {
        let words = self.words();
        let bottom = words.bottom.load(Ordering::Relaxed);
        // The slot is free: each push makes room for the next one.
        // Relaxed: the release of `bottom` publishes it.
        self.slot(bottom).store(item.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `steal_oldest_if`: a thief that sees the
        // index sees the slot, and what the item points to.
        words.bottom.store(bottom + 1, Ordering::Release);
        // Pairs with the heavy barrier between the thief's `request_open` and `open`: either this
        // thread sees the request, or the thread that opens the deque sees the item.
        light_barrier();
        let is_complete = bottom + 1 < words.ceiling.load(Ordering::Relaxed);
        Pushed { index: bottom, is_complete }
    }

    /// Points to what `other` points to. The promise of its maker holds for both.
    pub(super) fn copy_from(&self, other: &Self) {
        self.words.set(other.words.get());
        self.slots.set(other.slots.get());
        self.mask.set(other.mask.get());
    }
}

/// A ring of one slot that is never read. Every push to it takes the slow path.
#[derive(Debug)]
pub(super) struct NullRing<T> {
    words: OwnerWords,
    slots: [AtomicPtr<T>; 1],
}

impl<T> NullRing<T> {
    pub(super) fn new() -> Box<Self> {
        let slots = [AtomicPtr::new(std::ptr::null_mut())];
        Box::new(Self { words: OwnerWords::new(), slots })
    }

    /// A handle of this ring.
    ///
    /// # Safety
    /// This is not moved, and outlives the handle's use.
    pub(super) unsafe fn handle(&self) -> RingHandle<T> {
        // SAFETY: as the caller promises, and 1 is a power of two.
        unsafe { RingHandle::new(&self.words, &self.slots) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr::{self, NonNull};

    use crate::deque::{Steal, TakeBack, chase_lev};

    fn item(number: usize) -> NonNull<u64> {
        NonNull::new(ptr::without_provenance_mut(number * 8 + 8)).unwrap()
    }

    #[test]
    fn redirected_pushes_add_nothing() {
        let (owner, thief) = chase_lev(None);
        let _ = owner.after_slow_push(owner.push(item(0)).index);
        owner.redirect();
        for number in 1..100 {
            assert!(!owner.push(item(number)).is_complete, "no push is complete");
        }
        assert_eq!(thief.steal_oldest(), Steal::Taken(item(0)));
        assert_eq!(thief.steal_oldest(), Steal::Empty);
        assert_eq!(owner.pop_newest(), None);
    }

    /// The real ring grows in this test.
    #[test]
    fn the_deque_works_while_pushes_are_redirected() {
        let (owner, thief) = chase_lev(None);
        owner.redirect();
        let mut indices = Vec::new();
        for number in 0..100 {
            let _ = owner.push(item(1000));
            let pushed = owner.push_real(item(number));
            if !pushed.is_complete {
                let _ = owner.after_slow_push(pushed.index);
            }
            indices.push(pushed.index);
        }
        assert_eq!(thief.steal_oldest(), Steal::Taken(item(0)));
        for number in (1..100).rev() {
            let taken = match owner.take_back(indices[number]) {
                TakeBack::Taken => true,
                TakeBack::Buried => false,
                TakeBack::Contended => owner.pop_lowered(indices[number]).is_some(),
            };
            assert!(taken);
        }
    }
}
