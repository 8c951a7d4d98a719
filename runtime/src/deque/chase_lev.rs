//! The growable deque of Chase and Lev ("Dynamic circular work-stealing deque", SPAA 2005, section 3), with the memory
//! orderings of Lê, Pop, Cohen and Zappa Nardelli ("Correct and efficient work-stealing for weak memory models", PPoPP
//! 2013, figure 1). The README beside this file argues each of them.
//!
//! It departs from the papers in four ways: a slot is one atomic word; the owner remembers the last `top` that it saw
//! and reads the shared one only when that says full or when it pops; a grown ring keeps the ones before it; every store
//! of `bottom` is a release, where the second paper has a fence before some.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use super::buffer::Buffer;
use super::contract::{Owner, Steal, Thief};
use crate::primitive::{AtomicIsize, AtomicPtr, CachePadded, Ordering, fence};

/// Small under the model checker and in unit tests, so that they grow.
const FIRST_CAPACITY: usize = if cfg!(any(loom, test)) { 2 } else { 64 };

#[derive(Debug)]
struct Shared<T> {
    /// Index of the oldest item. Only grows; moved by whoever takes the oldest item.
    top: CachePadded<AtomicIsize>,
    /// Index after the newest item. Written by the owner alone.
    bottom: CachePadded<AtomicIsize>,
    /// The ring in use. Written by the owner alone.
    buffer: AtomicPtr<Buffer<T>>,
    /// Items are handed between threads, never shared.
    items: PhantomData<NonNull<T>>,
}

// SAFETY: all fields that are shared are atomics; items are opaque words here. Whoever makes a deque answers for its
// items being fit to change threads (jobs are: see `job.rs`).
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The ring that is in use, or was a moment ago.
    fn buffer(&self) -> &Buffer<T> {
        // Acquire pairs with the release in `grow`: the slots that were copied are seen.
        let buffer = self.buffer.load(Ordering::Acquire);
        // SAFETY: a ring is freed only with the deque (`Buffer::replaced`), which `&self` keeps alive.
        unsafe { &*buffer }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let buffer = self.buffer.load(Ordering::Relaxed);
        // SAFETY: made by `Box::into_raw`; nobody else has a handle any more. The rings before it go with it.
        drop(unsafe { Box::from_raw(buffer) });
    }
}

/// The owner's handle. It may be sent to the thread that is to own the deque, but not shared.
#[derive(Debug)]
pub(crate) struct ChaseLevOwner<T> {
    shared: Arc<Shared<T>>,
    /// A `top` seen earlier: never above the real one.
    top_seen: Cell<isize>,
}

/// A thief's handle.
#[derive(Debug)]
pub(crate) struct ChaseLevThief<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for ChaseLevThief<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// An empty deque.
pub(crate) fn chase_lev<T>() -> (ChaseLevOwner<T>, ChaseLevThief<T>) {
    let shared = Arc::new(Shared {
        top: CachePadded::new(AtomicIsize::new(0)),
        bottom: CachePadded::new(AtomicIsize::new(0)),
        buffer: AtomicPtr::new(Box::into_raw(Buffer::new(FIRST_CAPACITY))),
        items: PhantomData,
    });
    let thief = ChaseLevThief { shared: Arc::clone(&shared) };
    (ChaseLevOwner { shared, top_seen: Cell::new(0) }, thief)
}

impl<T> ChaseLevOwner<T> {
    #[cold]
    #[inline(never)]
    fn grow(&self, top: isize, bottom: isize) {
        let old = self.shared.buffer.load(Ordering::Relaxed);
        // SAFETY: the ring in use, made by `Box::into_raw`; this is the owner.
        let new = unsafe { Buffer::grown_from(old, top..bottom) };
        // Release pairs with the acquire in `Shared::buffer`: a thief that sees the ring sees its slots.
        self.shared.buffer.store(Box::into_raw(new), Ordering::Release);
    }
}

impl<T> Owner<T> for ChaseLevOwner<T> {
    #[inline]
    fn push_new(&self, item: NonNull<T>) {
        let shared = &*self.shared;
        let bottom = shared.bottom.load(Ordering::Relaxed);
        let capacity = shared.buffer().capacity() as isize;
        if bottom - self.top_seen.get() >= capacity {
            // Acquire pairs with the compare-and-swap of whoever took the items: their reads of the slots, which are
            // about to be written again, are over.
            self.top_seen.set(shared.top.load(Ordering::Acquire));
            if bottom - self.top_seen.get() >= capacity {
                self.grow(self.top_seen.get(), bottom);
            }
        }
        shared.buffer().put(bottom, item);
        // Release pairs with the acquire of `bottom` in `steal_oldest`: who sees the index sees the slot, and what the
        // item points to.
        shared.bottom.store(bottom + 1, Ordering::Release);
    }

    #[inline]
    fn pop_newest(&self) -> Option<NonNull<T>> {
        let shared = &*self.shared;
        let bottom = shared.bottom.load(Ordering::Relaxed);
        if bottom <= self.top_seen.get() {
            return None; // `top` only grows, so this is exact, and hunters pay no fence for it.
        }
        let newest = bottom - 1;
        // Release, as in `push_new`: a thief may read this value, and goes by it for the older items.
        shared.bottom.store(newest, Ordering::Release);
        // Pairs with the fence in `steal_oldest`: either the thief sees that `bottom` was lowered, or we see the `top`
        // that it raised.
        fence(Ordering::SeqCst);
        // Acquire pairs with the compare-and-swap of thieves, as in `push_new`, which trusts `top_seen`.
        let top = shared.top.load(Ordering::Acquire);
        self.top_seen.set(top);
        if top < newest {
            return shared.buffer().get(newest); // no thief can reach it any more
        }
        // The last item, or none: decided by `top`, as thieves do.
        let won = top == newest
            && shared
                .top
                .compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Acquire)
                .is_ok();
        self.top_seen.set(bottom); // now empty: top == bottom
        shared.bottom.store(bottom, Ordering::Release);
        won.then(|| shared.buffer().get(newest)).flatten()
    }
}

impl<T> Thief<T> for ChaseLevThief<T> {
    fn steal_oldest(&self) -> Steal<T> {
        let shared = &*self.shared;
        // Acquire pairs with the compare-and-swap of the thief before: we read `bottom` no older than it did.
        let top = shared.top.load(Ordering::Acquire);
        // Pairs with the fence in `pop_newest`.
        fence(Ordering::SeqCst);
        // Acquire pairs with the release in `push_new`: the slots below `bottom` are seen.
        let bottom = shared.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        let Some(item) = shared.buffer().get(top) else {
            return Steal::Lost; // a slot of a ring that was replaced before it was ever used: `top` has moved on
        };
        // Release: the read of the slot comes before, for the owner who will write it again (see `push_new`).
        match shared.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => Steal::Taken(item),
            Err(_) => Steal::Lost,
        }
    }

    fn is_empty(&self) -> bool {
        let top = self.shared.top.load(Ordering::Acquire);
        fence(Ordering::SeqCst); // as in `steal_oldest`
        top >= self.shared.bottom.load(Ordering::Acquire)
    }
}
