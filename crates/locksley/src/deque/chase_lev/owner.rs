//! The owner's side of the deque: open or closed.

use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::sync::Arc;

use super::buffer::Buffer;
use super::hand::{Hand, NullRing};
use super::{OPEN_CEILING, OPEN_FLOOR, Owners, Shared};
use crate::deque::contract::{Closable, Owner};
use crate::os::{self, light_barrier};
use crate::primitive::{Ordering, fence};

/// So many pushes in a row, none of whose items was stolen, before the owner closes its deque. They cost it about what
/// it costs a thief to have the deque opened again, so that neither can lose much (the rule for renting skis).
const LEFT_ALONE: u32 = if cfg!(any(loom, test)) { 2 } else { 64 };

/// The owner's handle. It may be sent to the thread that is to own the deque, but not shared.
#[derive(Debug)]
#[repr(C)] // what is used most first: shorter instructions
pub(crate) struct ChaseLevOwner<T> {
    /// Where pushes go: into the real ring, or the [null ring](Self::redirect).
    hand: Hand<T>,
    /// The ring that holds the items.
    real: Hand<T>,
    shared: Arc<Shared<T>>,
    /// An index of the oldest item seen earlier: never above the real one.
    oldest_seen: Cell<i64>,
    /// Pushes since an item was stolen, or since the deque was opened at somebody else's wish.
    left_alone: Cell<u32>,
    /// Whether the owner has closed the deque, and does not know that it was opened.
    closed: Cell<bool>,
    may_close: bool,
    /// Made when it is first needed.
    null_ring: OnceCell<Box<NullRing<T>>>,
}

// SAFETY: the pointers are to parts of the deque, which `shared` keeps alive and which may be sent itself.
unsafe impl<T> Send for ChaseLevOwner<T> {}

/// How an item was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Pushed {
    /// Into a closed deque: whoever looks for work has it opened, or is about to.
    Closed,
    /// Into an open one: the owner cares about those who sleep.
    Openly,
}

/// What became of an item that the owner wants to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum TakeBack {
    /// It is the owner's.
    Taken,
    /// It is not the newest one.
    Buried,
    /// Thieves may go for it: [`pop_lowered`](ChaseLevOwner::pop_lowered) decides.
    Lowered,
}

impl<T> ChaseLevOwner<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, may_close: bool) -> Self {
        // SAFETY: `shared` keeps both alive, and rings that are replaced too.
        let to_it = || unsafe { Hand::to(&shared.owners, shared.buffer().slots()) };
        let (hand, real) = (to_it(), to_it());
        let (oldest_seen, left_alone, closed, null_ring) = Default::default();
        Self { hand, real, shared, oldest_seen, left_alone, closed, may_close, null_ring }
    }

    #[inline]
    fn owners(&self) -> &Owners {
        self.real.owners()
    }

    /// The item that lies at an index.
    fn item(&self, index: i64) -> Option<NonNull<T>> {
        // Relaxed: written by this thread.
        NonNull::new(self.real.slot(index).load(Ordering::Relaxed))
    }

    fn capacity(&self) -> i64 {
        self.real.capacity()
    }

    /// From now on [`push`](Self::push) puts nothing into the deque, and always says that there is more to do: the caller, which has
    /// the item and knows why, does it then by [`push_real`](Self::push_real). All else is as before.
    ///
    /// So the one comparison that a push makes in any case serves another purpose, and costs nobody else anything.
    pub(crate) fn redirect(&self) {
        let null_ring = self.null_ring.get_or_init(NullRing::new);
        // SAFETY: in a box that is freed with this deque's owner, whose hand it is.
        self.hand.take_after(&unsafe { null_ring.hand() });
    }

    /// What [`push`](Self::push) does where pushes are not redirected.
    #[inline]
    pub(crate) fn push_real(&self, item: NonNull<T>) -> (i64, bool) {
        self.real.push(item)
    }

    /// Whether there is one item or none. Where thieves have taken some it may say no.
    pub(crate) fn holds_one_at_most(&self) -> bool {
        self.owners().bottom.load(Ordering::Relaxed) - self.oldest_seen.get() <= 1
    }

    /// Adds an item that is newer than all others, at the index that is returned. Also says whether that was all: if not,
    /// the caller calls [`at_the_ceiling`](Self::at_the_ceiling) next.
    #[inline]
    pub(crate) fn push(&self, item: NonNull<T>) -> (i64, bool) {
        self.hand.push(item)
    }

    /// The index of the next push.
    #[inline]
    pub(crate) fn end(&self) -> i64 {
        self.owners().bottom.load(Ordering::Relaxed)
    }

    /// Whatever a push to `index` has to do apart from pushing: the ring may be full, and the deque is open, or the owner
    /// is asked to open it.
    pub(crate) fn at_the_ceiling(&self, index: i64) -> Pushed {
        let bottom = index + 1;
        if self.closed.get() {
            let ceiling = self.owners().ceiling.load(Ordering::Relaxed);
            if ceiling != OPEN_CEILING && self.raise_the_ceiling(ceiling, bottom) {
                return Pushed::Closed;
            }
            self.open();
        }
        if bottom - self.oldest_seen.get() >= self.capacity() {
            // The acquire in `age` pairs with the release of whoever took items: their reads of the slots, which are
            // about to be written again, are over.
            let items = self.shared.age().items_below(bottom);
            self.see_oldest(bottom - items);
            self.make_room(bottom);
        }
        self.left_alone.set(self.left_alone.get().saturating_add(1));
        Pushed::Openly
    }

    /// Makes room in a closed deque that is full. Not if the owner is asked to open it.
    fn raise_the_ceiling(&self, ceiling: i64, bottom: i64) -> bool {
        // While the deque is closed nobody but us takes items.
        let raised = self.oldest_seen.get() + self.make_room(bottom);
        // By compare-and-swap, so that no asking is overwritten. Relaxed: only we go by the number.
        let ceiling = self.owners().ceiling.compare_exchange(
            ceiling,
            raised,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        ceiling.is_ok()
    }

    /// Sees to it that the slot for index `bottom` is free. Returns the capacity.
    fn make_room(&self, bottom: i64) -> i64 {
        let capacity = self.capacity();
        if bottom - self.oldest_seen.get() < capacity {
            return capacity;
        }
        let ring = self.shared.buffer.load(Ordering::Relaxed);
        // SAFETY: the ring in use, made by `Box::into_raw`; this is the owner.
        let grown = unsafe { Buffer::grown_from(ring, self.oldest_seen.get()..bottom) };
        let is_redirected = !self.hand.is_like(&self.real);
        // SAFETY: stored below, where it stays until the deque goes.
        unsafe { self.real.go_to_ring(grown.slots()) };
        if !is_redirected {
            self.hand.take_after(&self.real);
        }
        // Release pairs with the acquire in `Shared::buffer`: a thief that sees the ring sees its slots.
        self.shared.buffer.store(Box::into_raw(grown), Ordering::Release);
        2 * capacity
    }

    /// Takes the item at `index` if it is the newest. The caller knows that this is its item, if nobody has stolen it.
    #[inline]
    pub(crate) fn take_back(&self, index: i64) -> TakeBack {
        let owners = self.owners();
        if owners.bottom.load(Ordering::Relaxed) - 1 != index {
            return TakeBack::Buried;
        }
        self.lower(index);
        if index >= owners.floor.load(Ordering::Relaxed) {
            TakeBack::Taken
        } else {
            TakeBack::Lowered
        }
    }

    #[inline]
    fn lower(&self, bottom: i64) {
        // Release, as in `push`: a thief may read this value, and goes by it for the older items.
        self.owners().bottom.store(bottom, Ordering::Release);
        // Pairs with the heavy barrier between `ask` and `open`: either we see that we are asked, or thieves see that
        // the item is gone.
        light_barrier();
    }

    /// Takes the item at `newest`, to which `bottom` has been lowered, as one that thieves may go for.
    #[cold]
    #[inline(never)]
    pub(crate) fn pop_lowered(&self, newest: i64) -> Option<NonNull<T>> {
        let shared = &*self.shared;
        if self.closed.get() {
            if self.owners().floor.load(Ordering::Relaxed) != OPEN_FLOOR {
                self.owners().bottom.store(newest + 1, Ordering::Release);
                return None; // the deque is closed and empty
            }
            self.open();
        }
        // Pairs with the fence in `steal_oldest_if`: either the thief sees that `bottom` was lowered, or we see the age
        // that it changed.
        fence(Ordering::SeqCst);
        let age = shared.age();
        let items = age.items_below(newest);
        self.see_oldest(newest - items);
        if items > 0 {
            return self.item(newest); // no thief can reach it any more
        }
        // The last item, or none: decided by the age, as among thieves.
        let won = items == 0 && shared.exchange_age(age, age.with_oldest_taken());
        if !won {
            self.left_alone.set(0);
        }
        self.oldest_seen.set(newest + 1); // now empty
        self.owners().bottom.store(newest + 1, Ordering::Release);
        won.then(|| self.item(newest)).flatten()
    }

    /// Takes the newest item back from a deque that no thief ever looks at.
    #[cfg(feature = "alternatives")]
    pub(crate) fn retract(&self) -> Option<NonNull<T>> {
        let newest = self.owners().bottom.load(Ordering::Relaxed) - 1;
        self.owners().bottom.store(newest, Ordering::Relaxed);
        self.item(newest)
    }

    fn see_oldest(&self, oldest: i64) {
        if self.oldest_seen.replace(oldest) != oldest {
            self.left_alone.set(0); // somebody has stolen
        }
    }
}

impl<T> Closable for ChaseLevOwner<T> {
    /// Whether it is time to [`close`](Self::close).
    fn should_close(&self) -> bool {
        self.may_close && self.left_alone.get() >= LEFT_ALONE && os::heavy_barrier_works()
    }

    /// Closes the deque, which is open, if no thief is just then taking something. Returns whether it is closed; then the
    /// caller has to make a fence and look whether anybody relies on it being open.
    fn close(&self) -> bool {
        debug_assert!(!self.closed.get(), "it is closed as it is");
        let shared = &*self.shared;
        let bottom = self.owners().bottom.load(Ordering::Relaxed);
        let age = shared.age();
        let oldest = bottom - age.items_below(bottom);
        self.see_oldest(oldest);
        let capacity = self.capacity();
        debug_assert!(bottom - oldest < capacity, "there is room");
        // Before it is closed: whoever sees that it is and asks, asks after this.
        self.owners().floor.store(oldest, Ordering::Relaxed);
        self.owners().ceiling.store(oldest + capacity, Ordering::Relaxed);
        // A thief that has read the age before this and goes for the oldest item fails.
        if shared.exchange_age(age, age.turned()) {
            self.closed.set(true);
        } else {
            self.left_alone.set(0);
            self.owners().ask();
        }
        self.closed.get()
    }

    /// Opens the deque if it is closed.
    fn open(&self) {
        if self.closed.replace(false) {
            self.left_alone.set(0);
            let age = self.shared.age();
            // Where it fails, somebody was faster.
            if age.is_closed() {
                self.shared.exchange_age(age, age.turned());
            }
            // Both, whoever opened it, and whatever we were asked by.
            self.owners().ask();
        }
    }
}

impl<T> Owner<T> for ChaseLevOwner<T> {
    #[inline]
    fn push_new(&self, item: NonNull<T>) {
        let (index, done) = self.push(item);
        if !done {
            let _ = self.at_the_ceiling(index);
        }
    }

    #[inline]
    fn pop_newest(&self) -> Option<NonNull<T>> {
        let owners = self.owners();
        let bottom = owners.bottom.load(Ordering::Relaxed);
        if bottom <= self.oldest_seen.get() {
            return None; // the oldest index only grows, so this is exact, and thieves pay no fence for it
        }
        let newest = bottom - 1;
        self.lower(newest);
        if newest >= owners.floor.load(Ordering::Relaxed) {
            return self.item(newest);
        }
        self.pop_lowered(newest)
    }
}
