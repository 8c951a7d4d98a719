//! The owner's side of the deque.
//!
//! While the deque is *closed* (its epoch is odd), thieves take nothing. The owner pops the indices
//! from `floor` up, and pushes below `ceiling`, without a fence. While it is *open*, `floor` is
//! above all indices and `ceiling` below, so every push and pop takes the slow path. The *age* is
//! the word that thieves change: the epoch and the index of the oldest item. `README.md` has the
//! states.

use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::sync::Arc;

use super::buffer::Buffer;
use super::ring_handle::{NullRing, RingHandle};
use super::{OPEN_CEILING, OPEN_FLOOR, OwnerWords, Shared};
use crate::os::{self, light_barrier};
use crate::primitive::{Ordering, fence};

/// The owner's handle. It may be sent to another thread, and not shared.
#[derive(Debug)]
#[repr(C)] // hot fields first: shorter instructions
pub(crate) struct ChaseLevOwner<T> {
    /// Where [`push`](Self::push) writes: the real ring, or the null ring after
    /// [`redirect`](Self::redirect).
    target: RingHandle<T>,
    /// The ring that holds the items.
    real: RingHandle<T>,
    shared: Arc<Shared<T>>,
    /// A lower bound of the index of the oldest item.
    oldest_seen: Cell<i64>,
    /// Pushes to the open deque since the last steal that the owner has seen, or since it was
    /// opened.
    unstolen_pushes: Cell<u32>,
    /// True if the owner has closed the deque, and does not know that it was opened.
    closed: Cell<bool>,
    /// See [`chase_lev`](super::chase_lev).
    close_after: Option<u32>,
    /// Made by the first [`redirect`](Self::redirect).
    null_ring: OnceCell<Box<NullRing<T>>>,
}

// SAFETY: the pointers lead to parts of the deque, which `shared` keeps alive and which is `Send`.
unsafe impl<T> Send for ChaseLevOwner<T> {}

/// The result of a push.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Pushed {
    pub(crate) index: i64,
    /// If false, the caller has to do the slow part of the push.
    pub(crate) is_complete: bool,
}

/// The result of an attempt to take an item back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum TakeBack {
    /// The owner has the item.
    Taken,
    /// `bottom` is not just above the item: newer items lie there, or the owner has popped the item
    /// before. Nothing has changed.
    Buried,
    /// `bottom` has been lowered to the item. A thief may have taken the item, or may compete for
    /// it. The caller calls [`pop_lowered`](ChaseLevOwner::pop_lowered), which decides.
    Contended,
}

impl<T> ChaseLevOwner<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, close_after: Option<u32>) -> Self {
        // SAFETY: `shared` keeps the words and all rings alive.
        let handle = || unsafe { RingHandle::new(&shared.words, &shared.buffer().slots) };
        let (target, real) = (handle(), handle());
        Self {
            target,
            real,
            shared,
            oldest_seen: Cell::new(0),
            unstolen_pushes: Cell::new(0),
            closed: Cell::new(false),
            close_after,
            null_ring: OnceCell::new(),
        }
    }

    #[inline]
    fn words(&self) -> &OwnerWords {
        self.real.words()
    }

    /// The item at an index.
    fn item(&self, index: i64) -> Option<NonNull<T>> {
        // Relaxed: written by this thread.
        NonNull::new(self.real.slot(index).load(Ordering::Relaxed))
    }

    /// For observed pools: from now on [`push`](Self::push) adds nothing and is never complete. The
    /// caller still has the item, tells the observer, and calls [`push_real`](Self::push_real).
    ///
    /// Other pools pay nothing for this: pushes to the null ring fail the comparison with
    /// `ceiling`, which each push makes anyway.
    pub(crate) fn redirect(&self) {
        let null_ring = self.null_ring.get_or_init(NullRing::new);
        // SAFETY: in a box that is freed together with this handle.
        self.target.copy_from(&unsafe { null_ring.handle() });
    }

    /// [`push`](Self::push) to the real ring, even if pushes are redirected. If it is not complete,
    /// the caller calls [`after_slow_push`](Self::after_slow_push) next.
    #[inline]
    pub(crate) fn push_real(&self, item: NonNull<T>) -> Pushed {
        self.real.push(item)
    }

    /// True if there is at most one item. May be false after a steal that the owner has not seen.
    pub(crate) fn has_at_most_one_item(&self) -> bool {
        self.words().bottom.load(Ordering::Relaxed) - self.oldest_seen.get() <= 1
    }

    /// Adds an item that is newer than all others. If it is not complete, the caller calls
    /// [`push_real`](Self::push_real) next if pushes are redirected, and otherwise
    /// [`after_slow_push`](Self::after_slow_push).
    #[inline]
    pub(crate) fn push(&self, item: NonNull<T>) -> Pushed {
        self.target.push(item)
    }

    /// The index of the next push.
    #[inline]
    pub(crate) fn bottom(&self) -> i64 {
        self.words().bottom.load(Ordering::Relaxed)
    }

    /// Completes a push to `index` of the real ring: opens the deque if that is requested, and
    /// makes room for the next push. Returns true if the deque is open: then the caller wakes a
    /// sleeping worker if one is needed. A thief has a closed deque opened.
    #[must_use]
    pub(crate) fn after_slow_push(&self, index: i64) -> bool {
        let bottom = index + 1;
        if self.closed.get() {
            let ceiling = self.words().ceiling.load(Ordering::Relaxed);
            if ceiling != OPEN_CEILING && self.raise_ceiling(ceiling, bottom) {
                return false;
            }
            self.open();
        }
        if bottom - self.oldest_seen.get() >= self.real.capacity() {
            // The acquire in `age` pairs with the release of each steal: the thieves have read the
            // slots that are about to be written again.
            let items = self.shared.age().items_below(bottom);
            self.record_oldest(bottom - items);
            self.make_room(bottom);
        }
        self.unstolen_pushes.set(self.unstolen_pushes.get().saturating_add(1));
        true
    }

    /// Makes room in a closed deque that is full. Returns false on a request to open it.
    fn raise_ceiling(&self, ceiling: i64, bottom: i64) -> bool {
        // Only the owner takes items from a closed deque, so `oldest_seen` is exact.
        let raised = self.oldest_seen.get() + self.make_room(bottom);
        // By compare-and-swap, so that no request is overwritten. Relaxed: only the owner uses the
        // number.
        let ceiling = self.words().ceiling.compare_exchange(
            ceiling,
            raised,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        ceiling.is_ok()
    }

    /// Makes the slot of index `bottom` free, in a larger ring if necessary. Returns the capacity.
    fn make_room(&self, bottom: i64) -> i64 {
        let capacity = self.real.capacity();
        if bottom - self.oldest_seen.get() < capacity {
            return capacity;
        }
        let ring = self.shared.buffer.load(Ordering::Relaxed);
        // SAFETY: the ring in use, made by `Box::into_raw`, and this is the owner.
        let grown = unsafe { Buffer::grown_from(ring, self.oldest_seen.get()..bottom) };
        // SAFETY: `shared` keeps the words alive. The ring is stored below, and kept as long.
        self.real.copy_from(&unsafe { RingHandle::new(self.words(), &grown.slots) });
        if self.null_ring.get().is_none() {
            self.target.copy_from(&self.real);
        }
        // Release pairs with the acquire in `Shared::buffer`: a thief that sees the ring sees its
        // slots.
        self.shared.buffer.store(Box::into_raw(grown), Ordering::Release);
        2 * capacity
    }

    /// Takes back the item that the caller pushed to `index`, if it is the newest. If a newer item
    /// may have the same index, the caller must not call this.
    #[inline]
    pub(crate) fn take_back(&self, index: i64) -> TakeBack {
        let words = self.words();
        if words.bottom.load(Ordering::Relaxed) - 1 != index {
            return TakeBack::Buried;
        }
        self.lower(index);
        if index >= words.floor.load(Ordering::Relaxed) {
            TakeBack::Taken
        } else {
            TakeBack::Contended
        }
    }

    /// Lowers `bottom`, and makes that visible to a thread that opens the deque by force.
    #[inline]
    fn lower(&self, bottom: i64) {
        // Release, as in `push`: a thief that reads this value sees the slots of the older items.
        self.words().bottom.store(bottom, Ordering::Release);
        // Pairs with the heavy barrier between the thief's `request_open` and `open`: either this
        // thread sees the request, or thieves see that the item is gone.
        light_barrier();
    }

    /// Takes the item at `newest`, to which `bottom` has been lowered, if no thief was faster.
    #[cold]
    #[inline(never)]
    pub(crate) fn pop_lowered(&self, newest: i64) -> Option<NonNull<T>> {
        let shared = &*self.shared;
        if self.closed.get() {
            if self.words().floor.load(Ordering::Relaxed) != OPEN_FLOOR {
                self.words().bottom.store(newest + 1, Ordering::Release);
                return None; // the deque is closed and empty
            }
            self.open();
        }
        // Pairs with the fence in `steal_oldest_if`: either the thief sees that `bottom` was
        // lowered, or this thread sees the age that the thief changed.
        fence(Ordering::SeqCst);
        let age = shared.age();
        let items = age.items_below(newest);
        self.record_oldest(newest - items);
        if items > 0 {
            return self.item(newest); // out of reach of thieves
        }
        // The last item, or none: the age decides, as among thieves.
        let won = items == 0 && shared.exchange_age(age, age.with_oldest_taken());
        if !won {
            self.unstolen_pushes.set(0);
        }
        self.oldest_seen.set(newest + 1); // now empty
        self.words().bottom.store(newest + 1, Ordering::Release);
        won.then(|| self.item(newest)).flatten()
    }

    fn record_oldest(&self, oldest: i64) {
        if self.oldest_seen.replace(oldest) != oldest {
            self.unstolen_pushes.set(0); // an item was stolen
        }
    }

    /// True if enough pushes passed without a steal for closing to pay off.
    pub(crate) fn should_close(&self) -> bool {
        self.close_after.is_some_and(|after| self.unstolen_pushes.get() >= after)
            && os::heavy_barrier_works()
    }

    /// Closes the deque. Returns false if a thief takes an item at the same time: then it stays
    /// open.
    ///
    /// Pushes to a closed deque wake no worker. So if this returns true, the caller makes a fence,
    /// and checks that an awake worker searches. If none does, the caller opens the deque again.
    pub(crate) fn close(&self) -> bool {
        debug_assert!(!self.closed.get(), "already closed");
        let shared = &*self.shared;
        let bottom = self.words().bottom.load(Ordering::Relaxed);
        let age = shared.age();
        let oldest = bottom - age.items_below(bottom);
        self.record_oldest(oldest);
        let capacity = self.real.capacity();
        debug_assert!(bottom - oldest < capacity, "there is room");
        // Before the deque is closed: a thread that sees it closed makes its request after this.
        self.words().floor.store(oldest, Ordering::Relaxed);
        self.words().ceiling.store(oldest + capacity, Ordering::Relaxed);
        // The next epoch is odd: closed. A thief that read the age before this fails.
        if shared.exchange_age(age, age.with_next_epoch()) {
            self.closed.set(true);
        } else {
            self.unstolen_pushes.set(0);
            self.words().set_open_bounds();
        }
        self.closed.get()
    }

    /// Opens the deque, if it is closed.
    pub(crate) fn open(&self) {
        if self.closed.replace(false) {
            self.unstolen_pushes.set(0);
            let age = self.shared.age();
            if age.is_closed() {
                // The next epoch is even: open. If it fails, another thread has opened the deque.
                self.shared.exchange_age(age, age.with_next_epoch());
            }
            self.words().set_open_bounds();
        }
    }

    /// Takes the newest item.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        let words = self.words();
        let bottom = words.bottom.load(Ordering::Relaxed);
        if bottom <= self.oldest_seen.get() {
            return None; // `oldest_seen` is a lower bound, so the deque is empty
        }
        let newest = bottom - 1;
        self.lower(newest);
        if newest >= words.floor.load(Ordering::Relaxed) {
            return self.item(newest);
        }
        self.pop_lowered(newest)
    }
}
