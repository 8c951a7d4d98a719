//! The bounded deque of Arora, Blumofe and Plaxton ("Thread scheduling for multiprogrammed multiprocessors", SPAA 1998,
//! section 3), which Hood used. The README of `deque/` argues its orderings.
//!
//! Items lie in an array from `top` to `bottom`. Unlike in a ring, both only grow, until the owner finds the deque empty
//! and begins again at the first slot. A thief that was suspended meanwhile must not mistake the new `top` for the one
//! that it saw: so `top` shares a word, the *age*, with a tag that each new beginning increases.
//!
//! It departs from the paper in this: the tag has 44 bits and is not reclaimed. A thief would have to be suspended for
//! exactly a multiple of 2⁴⁴ new beginnings, days of nothing else, to be fooled.
//!
//! It can be had with the owner's fence moved to the thieves: then each attempt at a deque that is not empty makes a barrier in
//! all running threads.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;

#[cfg(test)]
use crate::deque::contract::Owner;
use crate::deque::contract::{Steal, Thief};
use crate::os::{heavy_barrier, light_barrier};
use crate::primitive::{AtomicPtr, AtomicU64, AtomicUsize, CachePadded, Ordering, fence};

/// How many items can be pushed from one new beginning to the next, those counted that thieves have taken.
const CAPACITY: usize = if cfg!(loom) { 4 } else { 1 << 15 };

/// The tag and `top` in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Age {
    /// How often the owner has begun again.
    tag: u64,
    /// Index of the oldest item.
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

    /// After the oldest item has been taken.
    fn one_taken(self) -> Self {
        Self { top: self.top + 1, ..self }
    }

    /// At the first slot again.
    fn begun_again(self) -> Self {
        Self { tag: self.tag + 1, top: 0 }
    }
}

#[derive(Debug)]
struct Shared<T> {
    /// An [`Age`]. Changed by whoever takes the oldest item, and by the owner when it begins again.
    age: CachePadded<AtomicU64>,
    /// Index after the newest item. Written by the owner alone.
    bottom: CachePadded<AtomicUsize>,
    slots: Box<[AtomicPtr<T>]>,
    /// Whether thieves make the owner's fences for it.
    thieves_pay: bool,
}

impl<T> Shared<T> {
    fn item(&self, index: usize) -> Option<NonNull<T>> {
        // Relaxed: whoever is entitled to the item has acquired the `bottom` that published it, or is the owner.
        NonNull::new(self.slots[index].load(Ordering::Relaxed))
    }
}

/// The owner's handle. It may be sent to the thread that is to own the deque, but not shared.
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

/// An empty deque. `thieves_pay`: the owner makes no fence, but each thief a heavy barrier; heavy barriers work.
pub(crate) fn abp_array<T>(thieves_pay: bool) -> (AbpArrayOwner<T>, AbpArrayThief<T>) {
    const { assert!(CAPACITY < 1 << Age::TOP_BITS) };
    let shared = Arc::new(Shared {
        age: CachePadded::new(AtomicU64::new(0)),
        bottom: CachePadded::new(AtomicUsize::new(0)),
        slots: (0..CAPACITY).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
        thieves_pay,
    });
    let thief = AbpArrayThief { shared: Arc::clone(&shared) };
    (AbpArrayOwner { shared, not_sync: PhantomData }, thief)
}

impl<T> AbpArrayOwner<T> {
    /// Adds an item that is newer than all others. If the array is full, nothing happens and the item comes back.
    pub(crate) fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        let shared = &*self.shared;
        let bottom = shared.bottom.load(Ordering::Relaxed);
        let Some(slot) = shared.slots.get(bottom) else {
            return Err(item);
        };
        slot.store(item.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `steal_oldest`: who sees the index sees the slot, and what the
        // item points to.
        shared.bottom.store(bottom + 1, Ordering::Release);
        Ok(())
    }

    /// Takes the newest item back.
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        let shared = &*self.shared;
        let newest = shared.bottom.load(Ordering::Relaxed).checked_sub(1)?;
        // Release, as in `try_push_new`: a thief may read this value, and goes by it for the older items.
        shared.bottom.store(newest, Ordering::Release);
        // Pairs with the fence in `steal_oldest`: either the thief sees that `bottom` was lowered, or we see the age
        // that it left.
        if shared.thieves_pay {
            light_barrier();
        } else {
            fence(Ordering::SeqCst);
        }
        let item = shared.item(newest);
        // Acquire pairs with the compare-and-swap of thieves: their reads of the slots, which will be filled again after
        // a new beginning, are over.
        let age = Age::from_word(shared.age.load(Ordering::Acquire));
        if age.top < newest {
            return item; // no thief can reach it any more
        }
        // The last item, or none: decided by the age, as thieves do. Empty afterwards in any case, so begin again.
        shared.bottom.store(0, Ordering::Relaxed);
        let empty = age.begun_again().word();
        // Release, here and below, pairs with the acquire of the age in `steal_oldest`: who sees the new tag sees
        // `bottom` at 0 or what was pushed since. Acquire where a thief was faster: as above.
        let won = age.top == newest
            && shared
                .age
                .compare_exchange(age.word(), empty, Ordering::Release, Ordering::Acquire)
                .is_ok();
        if won {
            return item;
        }
        // No thief changes the age now: `top` has reached every `bottom` that it can still see (README).
        shared.age.store(empty, Ordering::Release);
        None
    }
}

/// For the tests that all deques pass; they stay below the capacity. Pools push by [`AbpArrayOwner::try_push_new`].
#[cfg(test)]
impl<T> Owner<T> for AbpArrayOwner<T> {
    fn push_new(&self, item: NonNull<T>) {
        self.try_push_new(item).expect("a test that stays below the capacity");
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        AbpArrayOwner::pop_newest(self)
    }
}

impl<T> Thief<T> for AbpArrayThief<T> {
    fn steal_oldest(&self) -> Steal<T> {
        let shared = &*self.shared;
        // Acquire pairs with the releases of the age: we read `bottom` no older than whoever wrote it did.
        let word = shared.age.load(Ordering::Acquire);
        let age = Age::from_word(word);
        // Pairs with the fence in `pop_newest`.
        if shared.thieves_pay {
            // What we read may be old. But the barrier has to be made only where there seems to be something.
            if shared.bottom.load(Ordering::Relaxed) <= age.top {
                return Steal::Empty;
            }
            if !heavy_barrier() {
                return Steal::Lost; // the owner runs its tasks itself
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
            return Steal::Lost; // not reached: a slot below `bottom` has been filled
        };
        // Release pairs with the owner's acquire of the age: our read of the slot comes before it is filled again.
        let taken = age.one_taken().word();
        match shared.age.compare_exchange(word, taken, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Taken(item),
            Err(_) => Steal::Lost,
        }
    }

    fn is_empty(&self) -> bool {
        let age = Age::from_word(self.shared.age.load(Ordering::Acquire));
        // Pairs with the fence of whoever has pushed something and cares for sleepers.
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
    fn a_full_array_gives_the_item_back_and_an_emptied_one_has_room_again() {
        let (owner, thief) = abp_array(false);
        for _ in 0..CAPACITY {
            assert_eq!(owner.try_push_new(item()), Ok(()));
        }
        assert_eq!(owner.try_push_new(item()), Err(item()));
        // Thieves make no room: indices only grow until the owner finds the deque empty.
        assert_eq!(thief.steal_oldest(), Steal::Taken(item()));
        assert_eq!(owner.try_push_new(item()), Err(item()));
        while owner.pop_newest().is_some() {}
        assert!(thief.is_empty());
        assert_eq!(owner.try_push_new(item()), Ok(()));
    }
}
