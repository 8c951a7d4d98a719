//! The thieves' side of the deque.

use std::sync::Arc;

use super::Shared;
use super::age::Age;
use crate::deque::contract::{Steal, Thief};
use crate::os;
use crate::primitive::{Ordering, fence};

/// A thief's handle.
#[derive(Debug)]
pub(crate) struct ChaseLevThief<T> {
    shared: Arc<Shared<T>>,
}

/// That a deque was closed, and that its owner was asked to open it.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Closed(Age);

impl<T> ChaseLevThief<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Two numbers that change together with what is in the deque, as far as this thread can see.
    pub(crate) fn marks(&self) -> (i64, i64) {
        // Relaxed: who compares them does so milliseconds apart.
        let bottom = self.shared.owners.bottom.load(Ordering::Relaxed);
        (self.shared.age().oldest_index(), bottom)
    }

    /// How many items there were, a moment ago.
    pub(crate) fn items_seen(&self) -> usize {
        // Relaxed: only attempts can tell what is there.
        let bottom = self.shared.owners.bottom.load(Ordering::Relaxed);
        usize::try_from(self.shared.age().items_below(bottom)).unwrap_or(0)
    }

    /// If the deque is closed, asks its owner to open it, who does so with its next push or pop.
    pub(crate) fn ask(&self) -> Option<Closed> {
        // In this order: whoever has seen that it is closed does not undo the asking of an earlier one.
        let age = self.shared.age();
        age.is_closed().then(|| {
            self.shared.owners.ask();
            Closed(age)
        })
    }

    /// As [`steal_oldest`](Thief::steal_oldest), if the item is wanted when it has been seen to be the oldest: whatever the owner
    /// did before it pushed the item is seen then. One that is not wanted counts as lost.
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce() -> bool) -> Steal<T> {
        let shared = &*self.shared;
        let age = shared.age();
        if age.is_closed() {
            // What we read may be old. But the owner has to be asked only where there seems to be something.
            if age.items_below(shared.owners.bottom.load(Ordering::Relaxed)) <= 0 {
                return Steal::Empty;
            }
            shared.owners.ask();
            return Steal::Kept;
        }
        // Pairs with the fence in `pop_lowered`: either we see that `bottom` was lowered, or the owner sees the age
        // as we have seen it, or newer.
        fence(Ordering::SeqCst);
        // Acquire pairs with the release in `push_new`: the slots below `bottom` are seen.
        let bottom = shared.owners.bottom.load(Ordering::Acquire);
        if age.items_below(bottom) <= 0 {
            return Steal::Empty;
        }
        let Some(item) = shared.buffer().get(age.oldest_index()) else {
            return Steal::Lost; // a slot of a ring that was replaced before it was ever used: others have moved on
        };
        // If the age has not changed, this item has been the oldest all the time.
        if is_wanted() && shared.exchange_age(age, age.with_oldest_taken()) {
            Steal::Taken(item)
        } else {
            Steal::Lost
        }
    }

    /// Opens a deque whose owner was asked and has not answered. A heavy barrier has been made since
    /// [`ask`](Self::ask), and that worked: otherwise what the owner does next is not safe from thieves.
    pub(crate) fn open(&self, closed: Closed) {
        // If it fails, somebody else has opened it.
        let _ = self.shared.exchange_age(closed.0, closed.0.turned());
    }
}

impl<T> Clone for ChaseLevThief<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Thief<T> for ChaseLevThief<T> {
    #[inline]
    fn steal_oldest(&self) -> Steal<T> {
        self.steal_oldest_if(|| true)
    }

    fn is_empty(&self) -> bool {
        let age = self.shared.age();
        fence(Ordering::SeqCst); // as in `steal_oldest_if`
        age.items_below(self.shared.owners.bottom.load(Ordering::Acquire)) <= 0
    }

    fn open_by_force(&self) {
        if let Some(closed) = self.ask()
            && os::heavy_barrier()
        {
            self.open(closed);
        }
    }
}
