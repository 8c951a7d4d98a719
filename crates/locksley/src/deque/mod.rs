//! Where ready tasks wait: a deque for each worker, and inboxes for tasks from other threads.
//!
//! The deque is the growable one of Chase and Lev ("Dynamic circular work-stealing deque", SPAA
//! 2005, section 3), with the memory orderings of Lê, Pop, Cohen and Zappa Nardelli ("Correct and
//! efficient work-stealing for weak memory models", PPoPP 2013, figure 1). Its owner may close it.
//! While it is closed, the owner pushes and pops without a fence, and a thief must have it opened
//! before it can steal.
//!
//! An item is one non-null word, which is never followed here. The README beside this file states
//! the protocols and the arguments.

mod age;
mod buffer;
mod inbox;
mod owner;
mod ring_handle;
#[cfg(test)]
mod tests;
mod thief;

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

pub(crate) use inbox::Inbox;
pub(crate) use owner::{ChaseLevOwner, TakeBack};
pub(crate) use thief::{ChaseLevThief, OpenRequest, Steal};

use crate::primitive::{AtomicI64, AtomicPtr, AtomicU64, CachePadded, Ordering};
use age::Age;
use buffer::Buffer;

/// Small in models and unit tests, so that the ring grows there.
const FIRST_CAPACITY: usize = if cfg!(any(loom, test)) { 2 } else { 64 };

/// Above all indices: the owner takes no item without a fence.
const OPEN_FLOOR: i64 = i64::MAX;
/// Below all indices: the owner takes the slow path at each push.
const OPEN_CEILING: i64 = i64::MIN;

/// The state that the owner and the thieves share.
#[derive(Debug)]
#[repr(C)] // hot fields first: shorter instructions
struct Shared<T> {
    words: CachePadded<OwnerWords>,
    /// An [`Age`]: the index of the oldest item, and the epoch. Changed by compare-and-swap.
    age: CachePadded<AtomicU64>,
    /// The ring in use. Only the owner writes it.
    buffer: AtomicPtr<Buffer<T>>,
    /// Items move between threads and are never shared.
    items: PhantomData<NonNull<T>>,
}

/// The words that the owner uses in every push and pop. Thieves use them less often.
#[derive(Debug)]
struct OwnerWords {
    /// The index after the newest item. Only the owner writes it.
    bottom: AtomicI64,
    /// The lowest index that the owner may pop without a fence.
    floor: AtomicI64,
    /// A push that raises `bottom` to this or above takes the slow path.
    ceiling: AtomicI64,
}

// SAFETY: the shared fields are atomics, and items are opaque words here. The code that makes a
// deque answers for items that may change threads (jobs may: see `header.rs`).
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn age(&self) -> Age {
        // Acquire pairs with the release in `exchange_age`. After a steal: this thread reads
        // `bottom` no older than that thief did. After a new epoch: it sees the floor and the
        // ceiling that were set before it, and the items that were pushed.
        Age(self.age.load(Ordering::Acquire))
    }

    fn exchange_age(&self, from: Age, to: Age) -> bool {
        // Release pairs with the acquire in `age`. For a thief: the owner writes the slot again
        // only after the thief has read it. Acquire: the winner sees what the last change
        // published.
        let exchanged =
            self.age.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// The ring in use, or one that was in use a moment ago.
    fn buffer(&self) -> &Buffer<T> {
        // Acquire pairs with the release in `make_room`: the copied slots are seen.
        let buffer = self.buffer.load(Ordering::Acquire);
        // SAFETY: a ring is freed only with the deque (`Buffer::replaced`), which `&self` keeps
        // alive.
        unsafe { &*buffer }
    }
}

impl OwnerWords {
    /// The words of an open and empty deque.
    fn new() -> Self {
        Self {
            bottom: AtomicI64::new(0),
            floor: AtomicI64::new(OPEN_FLOOR),
            ceiling: AtomicI64::new(OPEN_CEILING),
        }
    }

    /// Sets the bounds of an open deque. In a closed one this is a request: the next push or pop of
    /// the owner takes the slow path, and opens the deque.
    fn set_open_bounds(&self) {
        // Relaxed, all four: the owner may see a request late, and a thief that cannot wait makes
        // a heavy barrier. Read first, because most requests find an earlier one.
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
        // SAFETY: made by `Box::into_raw`, and no other handle exists. It owns the rings before it.
        drop(unsafe { Box::from_raw(buffer) });
    }
}

/// Makes an empty deque, open. After `close_after` consecutive pushes without a steal its owner
/// should close it; never, if that is `None`, as it must be where heavy barriers do not work.
pub(crate) fn chase_lev<T>(close_after: Option<u32>) -> (ChaseLevOwner<T>, ChaseLevThief<T>) {
    let shared = Arc::new(Shared {
        age: CachePadded::new(AtomicU64::new(Age::NEW.0)),
        words: CachePadded::new(OwnerWords::new()),
        buffer: AtomicPtr::new(Box::into_raw(Buffer::new(FIRST_CAPACITY))),
        items: PhantomData,
    });
    let thief = ChaseLevThief::new(Arc::clone(&shared));
    (ChaseLevOwner::new(shared, close_after), thief)
}
