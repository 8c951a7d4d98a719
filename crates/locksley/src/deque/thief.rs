//! The thieves' side of the deque.

use std::ptr::NonNull;
use std::sync::Arc;

use super::Shared;
use super::age::Age;
use crate::primitive::{Ordering, fence};

/// A thief's handle.
#[derive(Debug)]
pub(crate) struct ChaseLevThief<T> {
    shared: Arc<Shared<T>>,
}

/// The result of an attempt to steal.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Steal<T> {
    /// The oldest item, which now belongs to the thief.
    Taken(NonNull<T>),
    /// The deque was empty.
    Empty,
    /// Another thief or the owner took an item first.
    Lost,
    /// The deque is closed, and its owner has a request to open it.
    Closed,
}

/// A deque was closed, and its owner has a request to open it.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct OpenRequest(Age);

impl<T> ChaseLevThief<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// The index of the oldest item, and that of the next push, as this thread sees them.
    pub(crate) fn bounds(&self) -> (i64, i64) {
        // Relaxed: only an attempt to steal gives an exact answer.
        let bottom = self.shared.words.bottom.load(Ordering::Relaxed);
        (bottom - self.shared.age().items_below(bottom), bottom)
    }

    /// Requests that the owner open the deque, if it is closed. The owner's next push or pop opens
    /// it.
    pub(crate) fn request_open(&self) -> Option<OpenRequest> {
        // In this order: a thread that saw the deque closed does not undo an earlier request.
        let age = self.shared.age();
        age.is_closed().then(|| {
            self.shared.words.set_open_bounds();
            OpenRequest(age)
        })
    }

    /// Tries once to take the oldest item.
    #[inline]
    pub(crate) fn steal_oldest(&self) -> Steal<T> {
        self.steal_oldest_if(|_| true)
    }

    /// True if the deque was empty at some moment during the call.
    pub(crate) fn is_empty(&self) -> bool {
        let age = self.shared.age();
        fence(Ordering::SeqCst); // as in `steal_oldest_if`
        age.items_below(self.shared.words.bottom.load(Ordering::Acquire)) <= 0
    }

    /// [`steal_oldest`](Self::steal_oldest), if `is_wanted` returns true for the oldest item's
    /// index. It is called after the item was read, and sees what the owner did before it pushed
    /// that. An item that is not wanted stays, and the result is [`Steal::Lost`].
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce(i64) -> bool) -> Steal<T> {
        let shared = &*self.shared;
        let age = shared.age();
        if age.is_closed() {
            // This read may be old. But a request is needed only if there seems to be an item.
            if age.items_below(shared.words.bottom.load(Ordering::Relaxed)) <= 0 {
                return Steal::Empty;
            }
            shared.words.set_open_bounds();
            return Steal::Closed;
        }
        // Pairs with the fence in `pop_lowered`: either this thief sees that `bottom` was lowered,
        // or the owner sees this age or a newer one.
        fence(Ordering::SeqCst);
        // Acquire pairs with the release of `bottom` in `push`: the slots below it are seen.
        let bottom = shared.words.bottom.load(Ordering::Acquire);
        let items = age.items_below(bottom);
        if items <= 0 {
            return Steal::Empty;
        }
        let Some(item) = shared.buffer().get(age.oldest().into()) else {
            return Steal::Lost; // an unused slot of a replaced ring: other threads progressed
        };
        // If the age has not changed, this item was the oldest all the time.
        if is_wanted(bottom - items) && shared.exchange_age(age, age.with_oldest_taken()) {
            Steal::Taken(item)
        } else {
            Steal::Lost
        }
    }

    /// Opens the deque in place of its owner. The caller has made a heavy barrier since
    /// [`request_open`](Self::request_open), with success: otherwise the owner's next pop could
    /// take an item that a thief takes too.
    pub(crate) fn open(&self, request: OpenRequest) {
        // If it fails, another thread has opened the deque.
        let _ = self.shared.exchange_age(request.0, request.0.with_next_epoch());
    }
}

impl<T> Clone for ChaseLevThief<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}
