//! The bounded deque of Arora, Blumofe and Plaxton ("Thread scheduling for multiprogrammed
//! multiprocessors", SPAA 1998, section 3), which Hood used. The README beside this file has the
//! argument for its orderings.
//!
//! Items are in an array from `top` to `bottom`. Both only grow, until the owner finds the deque
//! empty and resets them to the first slot. `top` shares a word, the *age*, with a tag that each
//! reset increases. So a thief that was suspended does not mistake the new `top` for the old one.
//!
//! In contrast to the paper, the tag has 44 bits and is not reclaimed. A thief would fail only if
//! it were suspended for exactly a multiple of 2⁴⁴ resets.

use std::ptr::{self, NonNull};

use crate::deque::contract::{Alternative, Steal};
use crate::primitive::{AtomicPtr, AtomicU64, AtomicUsize, CachePadded, Ordering, fence};

/// The most pushes between two resets.
const CAPACITY: usize = if cfg!(loom) { 4 } else { 1 << 15 };

/// The tag and `top` in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Age {
    /// The number of resets.
    tag: u64,
    /// The index of the oldest item.
    top: usize,
}

impl Age {
    const TOP_BITS: u32 = 20;

    fn from_word(word: u64) -> Self {
        Self { tag: word >> Self::TOP_BITS, top: (word & ((1 << Self::TOP_BITS) - 1)) as usize }
    }

    fn word(self) -> u64 {
        debug_assert!(self.top < 1 << Self::TOP_BITS);
        self.tag << Self::TOP_BITS | self.top as u64
    }

    /// The age after a steal.
    fn one_taken(self) -> Self {
        Self { top: self.top + 1, ..self }
    }

    /// The age after a reset.
    fn reset(self) -> Self {
        Self { tag: self.tag + 1, top: 0 }
    }
}

/// The deque.
pub(crate) struct AbpArray<T> {
    /// An [`Age`]. Changed by each steal, and by the owner when it resets the indices.
    age: CachePadded<AtomicU64>,
    /// The index after the newest item. Only the owner writes it.
    bottom: CachePadded<AtomicUsize>,
    slots: Box<[AtomicPtr<T>]>,
}

impl<T> AbpArray<T> {
    /// Makes an empty deque.
    pub(crate) fn new() -> Self {
        const { assert!(CAPACITY < 1 << Age::TOP_BITS) };
        Self {
            age: CachePadded::new(AtomicU64::new(0)),
            bottom: CachePadded::new(AtomicUsize::new(0)),
            slots: (0..CAPACITY).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
        }
    }

    fn item(&self, index: usize) -> Option<NonNull<T>> {
        // Relaxed: the caller has acquired the `bottom` that published the item, or is the owner.
        NonNull::new(self.slots[index].load(Ordering::Relaxed))
    }
}

impl<T> Alternative<T> for AbpArray<T> {
    fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        let bottom = self.bottom.load(Ordering::Relaxed);
        let Some(slot) = self.slots.get(bottom) else {
            return Err(item);
        };
        slot.store(item.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `steal_oldest`: a thief that sees the index
        // sees the slot, and what the item points to.
        self.bottom.store(bottom + 1, Ordering::Release);
        Ok(())
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        let newest = self.bottom.load(Ordering::Relaxed).checked_sub(1)?;
        // Release, as in `try_push_new`: a thief that reads this value sees the slots of older
        // items.
        self.bottom.store(newest, Ordering::Release);
        // Pairs with the fence in `steal_oldest`: either the thief sees that `bottom` was lowered,
        // or this thread sees the age that the thief left.
        fence(Ordering::SeqCst);
        let item = self.item(newest);
        // Acquire pairs with the compare-and-swap of thieves: they have read the slots that are
        // written again after a reset.
        let age = Age::from_word(self.age.load(Ordering::Acquire));
        if age.top < newest {
            return item; // out of reach of thieves
        }
        // The last item, or none: the age decides. The deque is empty afterwards in any case.
        self.bottom.store(0, Ordering::Relaxed);
        let empty = age.reset().word();
        // Release, here and below, pairs with the acquire of the age in `steal_oldest`: a thief
        // that sees the new tag sees `bottom` at 0, or what was pushed since. Acquire on failure:
        // as above.
        let won = age.top == newest
            && self
                .age
                .compare_exchange(age.word(), empty, Ordering::Release, Ordering::Acquire)
                .is_ok();
        if won {
            return item;
        }
        // No thief changes the age now: `top` has reached every `bottom` that a thief can see
        // (README).
        self.age.store(empty, Ordering::Release);
        None
    }

    fn steal_oldest(&self) -> Steal<T> {
        // Acquire pairs with the releases of the age: this thread reads `bottom` no older than the
        // thread that wrote the age did.
        let word = self.age.load(Ordering::Acquire);
        let age = Age::from_word(word);
        // Pairs with the fence in `pop_newest`.
        fence(Ordering::SeqCst);
        // Acquire pairs with the releases of `bottom`: the slots below it are seen.
        let bottom = self.bottom.load(Ordering::Acquire);
        if bottom <= age.top {
            return Steal::Empty;
        }
        let Some(item) = self.item(age.top) else {
            return Steal::Lost; // not reached: slots below `bottom` were written
        };
        // Release pairs with the owner's acquire of the age: the owner writes the slot again only
        // after this read of it.
        let taken = age.one_taken().word();
        match self.age.compare_exchange(word, taken, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Taken(item),
            Err(_) => Steal::Lost,
        }
    }

    fn is_empty(&self) -> bool {
        let age = Age::from_word(self.age.load(Ordering::Acquire));
        // Pairs with the fence that follows a push and precedes the look at sleeping workers.
        fence(Ordering::SeqCst);
        self.bottom.load(Ordering::Acquire) <= age.top
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn item() -> NonNull<u8> {
        NonNull::dangling()
    }

    #[test]
    fn an_age_fits_into_its_word() {
        for age in [
            Age { tag: 0, top: 0 },
            Age { tag: 5, top: CAPACITY },
            Age { tag: (1 << 44) - 1, top: (1 << 20) - 1 },
        ] {
            assert_eq!(Age::from_word(age.word()), age);
        }
    }

    #[test]
    fn a_full_array_returns_the_item_until_the_owner_has_emptied_it() {
        let deque = AbpArray::new();
        for _ in 0..CAPACITY {
            assert_eq!(deque.try_push_new(item()), Ok(()));
        }
        assert_eq!(deque.try_push_new(item()), Err(item()));
        // A steal makes no room: indices only grow until the owner finds the deque empty.
        assert_eq!(deque.steal_oldest(), Steal::Taken(item()));
        assert_eq!(deque.try_push_new(item()), Err(item()));
        while deque.pop_newest().is_some() {}
        assert!(deque.is_empty());
        assert_eq!(deque.try_push_new(item()), Ok(()));
    }
}
