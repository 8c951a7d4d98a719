//! Each kind of deque as a type, for the test suite and the models.

#![cfg_attr(loom, allow(dead_code, reason = "for the suite"))]

use std::ptr::NonNull;
use std::sync::Arc;

use crate::deque::alternatives::{self, Lock, Locked};
use crate::deque::contract::{Alternative, Steal};
use crate::deque::{ChaseLevOwner, ChaseLevThief, SlowPush, chase_lev};
use crate::os;

/// The owner's end: the newest items. Only one thread may have it.
pub(super) trait Owner<T> {
    /// Adds an item that is newer than all others.
    fn push_new(&self, item: NonNull<T>);

    /// Takes the newest item.
    fn pop_newest(&self) -> Option<NonNull<T>>;
}

/// The thieves' end: the oldest items.
pub(super) trait Thief<T>: Send + Sync {
    /// Tries once to take the oldest item.
    fn steal_oldest(&self) -> Steal<T>;

    /// True if the deque was empty at some moment during the call.
    fn is_empty(&self) -> bool;

    /// Opens a closed deque, even if its owner is suspended.
    fn open_by_force(&self) {}
}

/// A kind of deque, by type.
pub(super) trait Kind {
    type Owner<T: 'static>: Owner<T> + Send + 'static;
    type Thief<T: 'static>: Thief<T> + Clone + 'static;

    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>);
}

impl<T> Owner<T> for ChaseLevOwner<T> {
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

impl<T> Thief<T> for ChaseLevThief<T> {
    fn steal_oldest(&self) -> Steal<T> {
        ChaseLevThief::steal_oldest(self)
    }

    fn is_empty(&self) -> bool {
        ChaseLevThief::is_empty(self)
    }

    fn open_by_force(&self) {
        ChaseLevThief::open_by_force(self);
    }
}

impl<T> ChaseLevThief<T> {
    pub(crate) fn open_by_force(&self) {
        if let Some(request) = self.request_open()
            && os::heavy_barrier()
        {
            self.open(request);
        }
    }
}

pub(super) struct ChaseLev;

impl Kind for ChaseLev {
    type Owner<T: 'static> = ChaseLevOwner<T>;
    type Thief<T: 'static> = ChaseLevThief<T>;

    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        // In models it may always be closed.
        chase_lev(cfg!(loom) || os::heavy_barrier_works())
    }
}

/// The same deque, closed whenever its owner may close it.
pub(super) struct ClosedChaseLev;

pub(super) struct Closing<T>(ChaseLevOwner<T>);

impl<T> Owner<T> for Closing<T> {
    fn push_new(&self, item: NonNull<T>) {
        let pushed = self.0.push(item);
        if !pushed.is_complete
            && matches!(self.0.after_slow_push(pushed.index), SlowPush::Open)
            && self.0.should_close()
        {
            self.0.close();
        }
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.0.pop_newest()
    }
}

impl Kind for ClosedChaseLev {
    type Owner<T: 'static> = Closing<T>;
    type Thief<T: 'static> = ChaseLevThief<T>;

    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        let may_close = os::heavy_barrier_works();
        let (owner, thief) = chase_lev(may_close);
        if may_close {
            assert!(owner.close(), "no thief exists yet");
        }
        (Closing(owner), thief)
    }
}

/// A handle of a deque for comparisons: the owner's or a thief's.
pub(super) struct Handle<D>(Arc<D>);

impl<D> Handle<D> {
    fn pair(deque: D) -> (Self, Self) {
        let deque = Arc::new(deque);
        (Self(Arc::clone(&deque)), Self(deque))
    }
}

impl<D> Clone for Handle<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T, D: Alternative<T>> Owner<T> for Handle<D> {
    fn push_new(&self, item: NonNull<T>) {
        self.0.try_push_new(item).expect("below the capacity");
    }

    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.0.pop_newest()
    }
}

impl<T, D: Alternative<T>> Thief<T> for Handle<D> {
    fn steal_oldest(&self) -> Steal<T> {
        self.0.steal_oldest()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(super) struct AbpArray;

impl Kind for AbpArray {
    type Owner<T: 'static> = Handle<alternatives::AbpArray<T>>;
    type Thief<T: 'static> = Handle<alternatives::AbpArray<T>>;

    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        Handle::pair(alternatives::AbpArray::new())
    }
}

/// A deque with a lock, and the number of callers that found the lock taken.
pub(super) trait WithLock: Kind {
    fn waits<T: 'static>(thief: &Self::Thief<T>) -> u64;
}

impl<L: Lock + 'static> Kind for L {
    type Owner<T: 'static> = Handle<Locked<T, L>>;
    type Thief<T: 'static> = Handle<Locked<T, L>>;

    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        Handle::pair(Locked::new())
    }
}

impl<L: Lock + 'static> WithLock for L {
    fn waits<T: 'static>(thief: &Self::Thief<T>) -> u64 {
        thief.0.waits.load(std::sync::atomic::Ordering::Relaxed)
    }
}
