//! The growable deque of Chase and Lev ("Dynamic circular work-stealing deque", SPAA 2005, section 3), with the memory
//! orderings of Lê, Pop, Cohen and Zappa Nardelli ("Correct and efficient work-stealing for weak memory models", PPoPP
//! 2013, figure 1), which its owner may close: while it is closed, the owner pushes and pops without a fence, and a
//! thief that wants something has it opened first. The README of the folder above argues all of it.

mod age;
mod buffer;
mod hand;
mod owner;
mod thief;

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

pub(crate) use owner::{ChaseLevOwner, Pushed, TakeBack};
pub(crate) use thief::{ChaseLevThief, Closed};

use crate::primitive::{AtomicI64, AtomicPtr, AtomicU64, CachePadded, Ordering};
use age::Age;
use buffer::Buffer;

/// Small under the model checker and in unit tests, so that they grow.
const FIRST_CAPACITY: usize = if cfg!(any(loom, test)) { 2 } else { 64 };

/// No index is as high: the owner takes no item without a fence.
const OPEN_FLOOR: i64 = i64::MAX;
/// No index is as low: the owner notices at each push.
const OPEN_CEILING: i64 = i64::MIN;

/// What the owner and the thieves of one deque share.
#[derive(Debug)]
#[repr(C)] // what is used most first: shorter instructions
struct Shared<T> {
    owners: CachePadded<Owners>,
    /// The index of the oldest item, and whether the deque is closed. Changed by compare-and-swap.
    age: CachePadded<AtomicU64>,
    /// The ring in use. Written by the owner alone.
    buffer: AtomicPtr<Buffer<T>>,
    /// Items are handed between threads, never shared.
    items: PhantomData<NonNull<T>>,
}

/// What the owner reads and writes with every push and pop, and thieves only when they have a reason.
#[derive(Debug)]
struct Owners {
    /// Index after the newest item. Written by the owner alone.
    bottom: AtomicI64,
    /// The lowest index that the owner may take without a fence.
    floor: AtomicI64,
    /// When `bottom` reaches it, the owner's push has more to do than to push.
    ceiling: AtomicI64,
}

// SAFETY: all fields that are shared are atomics; items are opaque words here. Whoever makes a deque answers for its
// items being fit to change threads (jobs are: see `job.rs`).
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn age(&self) -> Age {
        // Acquire pairs with the release in `exchange_age`. After a steal: we read `bottom` no older than that thief
        // did. After a turn: we see the floor and the ceiling as they were set before it, and what was pushed.
        Age(self.age.load(Ordering::Acquire))
    }

    fn exchange_age(&self, from: Age, to: Age) -> bool {
        // Release pairs with the acquire in `age`; for a thief: the read of the slot comes before, for the owner who
        // will write it again. Acquire, so that who takes an item or turns the deque goes by what was known before.
        let exchanged =
            self.age.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// The ring that is in use, or was a moment ago.
    fn buffer(&self) -> &Buffer<T> {
        // Acquire pairs with the release in `grow`: the slots that were copied are seen.
        let buffer = self.buffer.load(Ordering::Acquire);
        // SAFETY: a ring is freed only with the deque (`Buffer::replaced`), which `&self` keeps alive.
        unsafe { &*buffer }
    }
}

impl Owners {
    /// Makes the owner notice, at its next push or pop, that the deque is to be open.
    fn ask(&self) {
        // Relaxed, all four: the owner may be late to see it, and who cannot wait makes a heavy barrier. Read first:
        // most of those who ask are not the first to do so.
        if self.floor.load(Ordering::Relaxed) != OPEN_FLOOR {
            self.floor.store(OPEN_FLOOR, Ordering::Relaxed);
        }
        if self.ceiling.load(Ordering::Relaxed) != OPEN_CEILING {
            self.ceiling.store(OPEN_CEILING, Ordering::Relaxed);
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let buffer = self.buffer.load(Ordering::Relaxed);
        // SAFETY: made by `Box::into_raw`; nobody else has a handle any more. The rings before it go with it.
        drop(unsafe { Box::from_raw(buffer) });
    }
}

/// An empty deque, open. `may_close`: whether heavy barriers work, without which it stays open for ever.
pub(crate) fn chase_lev<T>(may_close: bool) -> (ChaseLevOwner<T>, ChaseLevThief<T>) {
    let owners = Owners {
        bottom: AtomicI64::new(0),
        floor: AtomicI64::new(OPEN_FLOOR),
        ceiling: AtomicI64::new(OPEN_CEILING),
    };
    let shared = Arc::new(Shared {
        age: CachePadded::new(AtomicU64::new(Age::NEW.0)),
        owners: CachePadded::new(owners),
        buffer: AtomicPtr::new(Box::into_raw(Buffer::new(FIRST_CAPACITY))),
        items: PhantomData,
    });
    let thief = ChaseLevThief::new(Arc::clone(&shared));
    (ChaseLevOwner::new(shared, may_close), thief)
}
