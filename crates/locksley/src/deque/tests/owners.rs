//! The owner of a deque as the test suite and the models use it, and one that closes its deque.

#![cfg_attr(any(loom, not(debug_assertions)), allow(dead_code, reason = "for the suite"))]

use std::ptr::NonNull;

use crate::deque::{ChaseLevOwner, ChaseLevThief, chase_lev};
use crate::os;

/// The owner's end: the newest items. Only one thread may have it.
pub(super) trait Owner<T>: Sized + Send {
    /// Makes an empty deque.
    fn deque() -> (Self, ChaseLevThief<T>);

    /// Adds an item that is newer than all others.
    fn push_new(&self, item: NonNull<T>);

    /// Takes the newest item.
    fn pop_newest(&self) -> Option<NonNull<T>>;
}

impl<T> Owner<T> for ChaseLevOwner<T> {
    fn deque() -> (Self, ChaseLevThief<T>) {
        // In models it may always be closed.
        chase_lev((cfg!(loom) || os::heavy_barrier_works()).then_some(2))
    }

    fn push_new(&self, item: NonNull<T>) {
        let pushed = self.push(item);
        if !pushed.is_complete {
            let _ = self.after_slow_push(pushed.index);
        }
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        ChaseLevOwner::pop_newest(self)
    }
}

/// Closes its deque whenever it may.
pub(super) struct Closing<T>(ChaseLevOwner<T>);

impl<T> Owner<T> for Closing<T> {
    fn deque() -> (Self, ChaseLevThief<T>) {
        let may_close = os::heavy_barrier_works();
        let (owner, thief) = chase_lev(may_close.then_some(2));
        if may_close {
            assert!(owner.close(), "no thief exists yet");
        }
        (Self(owner), thief)
    }

    fn push_new(&self, item: NonNull<T>) {
        let pushed = self.0.push(item);
        if !pushed.is_complete && self.0.after_slow_push(pushed.index) && self.0.should_close() {
            self.0.close();
        }
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.0.pop_newest()
    }
}

impl<T> ChaseLevThief<T> {
    /// Opens a closed deque, even if its owner is suspended.
    pub(crate) fn open_by_force(&self) {
        if let Some(request) = self.request_open()
            && os::heavy_barrier()
        {
            self.open(request);
        }
    }
}
