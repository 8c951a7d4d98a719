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

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;

#[cfg(test)]
use crate::deque::contract::Owner;
use crate::deque::contract::{Steal, Thief};
use crate::os::{heavy_barrier, light_barrier};
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

#[derive(Debug)]
struct Shared<T> {
    /// An [`Age`]. Changed by each steal, and by the owner when it resets the indices.
    age: CachePadded<AtomicU64>,
    /// The index after the newest item. Only the owner writes it.
    bottom: CachePadded<AtomicUsize>,
    slots: Box<[AtomicPtr<T>]>,
    /// True if thieves make heavy barriers, and the owner no fences.
    heavy_barriers: bool,
}

impl<T> Shared<T> {
    fn item(&self, index: usize) -> Option<NonNull<T>> {
        // Relaxed: the caller has acquired the `bottom` that published the item, or is the owner.
        NonNull::new(self.slots[index].load(Ordering::Relaxed))
    }
}

/// The owner's handle. It may be sent to another thread, and not shared.
#[derive(Debug)]
pub(crate) struct AbpArrayOwner<T> {
    shared: Arc<Shared<T>>,
    not_sync: PhantomData<Cell<()>>,
}

/// A thief's handle.
#[derive(Debug)]
pub(crate) struct AbpArrayThief<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for AbpArrayThief<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// Makes an empty deque. If `heavy_barriers` is true, which needs them to work, the owner makes no
/// fence, and each thief a heavy barrier.
pub(crate) fn abp_array<T>(heavy_barriers: bool) -> (AbpArrayOwner<T>, AbpArrayThief<T>) {
    const { assert!(CAPACITY < 1 << Age::TOP_BITS) };
    let shared = Arc::new(Shared {
        age: CachePadded::new(AtomicU64::new(0)),
        bottom: CachePadded::new(AtomicUsize::new(0)),
        slots: (0..CAPACITY).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
        heavy_barriers,
    });
    let thief = AbpArrayThief { shared: Arc::clone(&shared) };
    (AbpArrayOwner { shared, not_sync: PhantomData }, thief)
}

impl<T> AbpArrayOwner<T> {
    /// Adds an item that is newer than all others. A full array returns the item.
    pub(crate) fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        let shared = &*self.shared;
        let bottom = shared.bottom.load(Ordering::Relaxed);
        let Some(slot) = shared.slots.get(bottom) else {
            return Err(item);
        };
        slot.store(item.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `steal_oldest`: a thief that sees the index
        // sees the slot, and what the item points to.
        shared.bottom.store(bottom + 1, Ordering::Release);
        Ok(())
    }

    /// Takes the newest item.
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        let shared = &*self.shared;
        let newest = shared.bottom.load(Ordering::Relaxed).checked_sub(1)?;
        // Release, as in `try_push_new`: a thief that reads this value sees the slots of older
        // items.
        shared.bottom.store(newest, Ordering::Release);
        // Pairs with the fence in `steal_oldest`: either the thief sees that `bottom` was lowered,
        // or this thread sees the age that the thief left.
        if shared.heavy_barriers {
            light_barrier();
        } else {
            fence(Ordering::SeqCst);
        }
        let item = shared.item(newest);
        // Acquire pairs with the compare-and-swap of thieves: they have read the slots that are
        // written again after a reset.
        let age = Age::from_word(shared.age.load(Ordering::Acquire));
        if age.top < newest {
            return item; // out of reach of thieves
        }
        // The last item, or none: the age decides. The deque is empty afterwards in any case.
        shared.bottom.store(0, Ordering::Relaxed);
        let empty = age.reset().word();
        // Release, here and below, pairs with the acquire of the age in `steal_oldest`: a thief
        // that sees the new tag sees `bottom` at 0, or what was pushed since. Acquire on failure:
        // as above.
        let won = age.top == newest
            && shared
                .age
                .compare_exchange(age.word(), empty, Ordering::Release, Ordering::Acquire)
                .is_ok();
        if won {
            return item;
        }
        // No thief changes the age now: `top` has reached every `bottom` that a thief can see
        // (README).
        shared.age.store(empty, Ordering::Release);
        None
    }
}

/// For the test suite, which stays below the capacity.
#[cfg(test)]
impl<T> Owner<T> for AbpArrayOwner<T> {
    fn push_new(&self, item: NonNull<T>) {
        self.try_push_new(item).expect("below the capacity");
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        AbpArrayOwner::pop_newest(self)
    }
}

impl<T> Thief<T> for AbpArrayThief<T> {
    fn steal_oldest(&self) -> Steal<T> {
        let shared = &*self.shared;
        // Acquire pairs with the releases of the age: this thread reads `bottom` no older than the
        // thread that wrote the age did.
        let word = shared.age.load(Ordering::Acquire);
        let age = Age::from_word(word);
        // Pairs with the fence in `pop_newest`.
        if shared.heavy_barriers {
            // This read may be old. But a barrier is needed only if there seems to be an item.
            if shared.bottom.load(Ordering::Relaxed) <= age.top {
                return Steal::Empty;
            }
            if !heavy_barrier() {
                return Steal::Lost; // only the owner can take its items now
            }
        } else {
            fence(Ordering::SeqCst);
        }
        // Acquire pairs with the releases of `bottom`: the slots below it are seen.
        let bottom = shared.bottom.load(Ordering::Acquire);
        if bottom <= age.top {
            return Steal::Empty;
        }
        let Some(item) = shared.item(age.top) else {
            return Steal::Lost; // not reached: slots below `bottom` were written
        };
        // Release pairs with the owner's acquire of the age: the owner writes the slot again only
        // after this read of it.
        let taken = age.one_taken().word();
        match shared.age.compare_exchange(word, taken, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Taken(item),
            Err(_) => Steal::Lost,
        }
    }

    fn is_empty(&self) -> bool {
        let age = Age::from_word(self.shared.age.load(Ordering::Acquire));
        // Pairs with the fence that follows a push and precedes the look at sleeping workers.
        fence(Ordering::SeqCst);
        self.shared.bottom.load(Ordering::Acquire) <= age.top
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
        let (owner, thief) = abp_array(false);
        for _ in 0..CAPACITY {
            assert_eq!(owner.try_push_new(item()), Ok(()));
        }
        assert_eq!(owner.try_push_new(item()), Err(item()));
        // A steal makes no room: indices only grow until the owner finds the deque empty.
        assert_eq!(thief.steal_oldest(), Steal::Taken(item()));
        assert_eq!(owner.try_push_new(item()), Err(item()));
        while owner.pop_newest().is_some() {}
        assert!(thief.is_empty());
        assert_eq!(owner.try_push_new(item()), Ok(()));
    }
}
