//! The non-blocking deque.
//!
//! Source: Arora, Blumofe and Plaxton, "Thread scheduling for multiprogrammed multiprocessors",
//! SPAA 1998, section 3: the procedures `pushBottom`, `popTop` and `popBottom`. Hood uses it
//! ("Hood: A User-Level Threads Library", 1998, section 3.2).
//!
//! | paper | here |
//! |---|---|
//! | `deq[0..]` | `slots`: an array that does not grow |
//! | `bot` | `bottom`: the index after the newest item |
//! | `age = (tag, top)` | `age`: both in one word of 64 bits |
//! | `cas` | `compare_exchange` |
//!
//! Items are at `top..bottom`. `top` only grows, until the owner finds the deque empty and resets
//! both to the first slot. Each reset increases the tag, so a thief that was suspended does not
//! mistake the new `top` for the old one.
//!
//! Two things differ. The paper assumes sequentially consistent memory; the orderings below are
//! those that the argument needs. The paper bounds the tag by a technique of Moir; here it has 44
//! bits and wraps around.
//!
//! # Argument
//!
//! *The last item.* The owner lowers `bottom`, and a thief reads `age` before it reads `bottom`.
//! Between its two accesses each has a sequentially consistent fence. So either the thief sees the
//! lowered `bottom`, or the owner sees the thief's `top`, or both try to change the same age, and
//! one compare-and-swap fails.
//!
//! *The owner's plain store of the age*, after a thief was faster, overwrites no compare-and-swap
//! of another thief. Say that the owner lowered `bottom` to n and finds `top` at n + 1. A thief
//! that tries item n + 1 has read `top` = n + 1, and then a `bottom` above that. If `bottom` was
//! ever above, the pop that lowered it to n + 1 made a fence and then saw a smaller `top`. So the
//! fence of the thief is the later one, and it sees the lowered `bottom`.

use std::ptr::{self, NonNull};

use locksley_sys::primitive::{AtomicPtr, AtomicU64, AtomicUsize, CachePadded, Ordering, fence};

use super::Deque;

/// The number of slots.
pub(super) const CAPACITY: usize = if cfg!(loom) { 4 } else { 1 << 15 };

/// The tag and `top` in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Age {
    /// The number of resets.
    pub(super) tag: u64,
    /// The index of the oldest item.
    pub(super) top: usize,
}

impl Age {
    const TOP_BITS: u32 = 20;

    pub(super) fn from_word(word: u64) -> Self {
        Self { tag: word >> Self::TOP_BITS, top: (word & ((1 << Self::TOP_BITS) - 1)) as usize }
    }

    pub(super) fn word(self) -> u64 {
        debug_assert!(self.top < 1 << Self::TOP_BITS);
        self.tag << Self::TOP_BITS | self.top as u64
    }
}

/// A bounded array. Its owner and thieves never wait for each other.
pub struct AbpArray<T> {
    /// An [`Age`]. Changed by each steal, and by the owner when it resets the indices.
    age: CachePadded<AtomicU64>,
    /// The index after the newest item. Only the owner writes it.
    bottom: CachePadded<AtomicUsize>,
    slots: Box<[AtomicPtr<T>]>,
}

impl<T> AbpArray<T> {
    /// Makes an empty deque.
    pub fn new() -> Self {
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

impl<T> Deque<T> for AbpArray<T> {
    /// `pushBottom`
    fn push_bottom(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        let bottom = self.bottom.load(Ordering::Relaxed);
        let Some(slot) = self.slots.get(bottom) else {
            return Err(item);
        };
        slot.store(item.as_ptr(), Ordering::Relaxed);
        // Release pairs with the acquire of `bottom` in `pop_top`: a thief that sees the index sees
        // the slot, and what the item points to.
        self.bottom.store(bottom + 1, Ordering::Release);
        Ok(())
    }

    /// `popTop`
    fn pop_top(&self) -> Option<NonNull<T>> {
        // Acquire pairs with the releases of the age: this thread reads `bottom` no older than the
        // thread that wrote the age did.
        let word = self.age.load(Ordering::Acquire);
        let age = Age::from_word(word);
        // Pairs with the fence in `pop_bottom`.
        fence(Ordering::SeqCst);
        // Acquire pairs with the releases of `bottom`: the slots below it are seen.
        let bottom = self.bottom.load(Ordering::Acquire);
        if bottom <= age.top {
            return None;
        }
        let item = self.item(age.top);
        let taken = Age { top: age.top + 1, ..age }.word();
        // Release pairs with the owner's acquire of the age: the owner writes the slot again only
        // after this read of it. On failure the paper's thief gives up, too.
        let won = self.age.compare_exchange(word, taken, Ordering::Release, Ordering::Relaxed);
        won.ok().and(item)
    }

    /// `popBottom`
    fn pop_bottom(&self) -> Option<NonNull<T>> {
        let newest = self.bottom.load(Ordering::Relaxed).checked_sub(1)?;
        // Release, as in `push_bottom`: a thief that reads this value sees the slots of older
        // items.
        self.bottom.store(newest, Ordering::Release);
        // Pairs with the fence in `pop_top`: see the argument about the last item.
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
        let reset = Age { tag: age.tag + 1, top: 0 }.word();
        // Release, here and below, pairs with the acquire of the age in `pop_top`: a thief that
        // sees the new tag sees `bottom` at 0, or what was pushed since. Acquire on failure: as
        // above.
        let won = age.top == newest
            && self
                .age
                .compare_exchange(age.word(), reset, Ordering::Release, Ordering::Acquire)
                .is_ok();
        if won {
            return item;
        }
        // No thief changes the age now: see the argument about the plain store.
        self.age.store(reset, Ordering::Release);
        None
    }
}
