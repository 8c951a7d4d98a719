//! The kinds of deques by type, for the tests that all of them pass and for the models.

#[cfg(not(loom))]
use std::ptr::NonNull;

use super::alternatives::{AbpArrayOwner, AbpArrayThief, abp_array};
#[cfg(not(loom))]
use super::alternatives::{
    BlockingLock, LockMeter, LockedOwner, LockedThief, Ring, SpinningLock, locked,
};
use super::contract::Kind;
#[cfg(not(loom))]
use super::contract::Owner;
use super::{ChaseLevOwner, ChaseLevThief, chase_lev};
#[cfg(not(loom))]
use super::{Closable as _, Pushed};

pub(super) struct ChaseLev;

impl Kind for ChaseLev {
    type Owner<T: 'static> = ChaseLevOwner<T>;
    type Thief<T: 'static> = ChaseLevThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        // The models are of a deque that may be closed.
        chase_lev(cfg!(loom) || crate::os::heavy_barrier_works())
    }
}

/// The same, closed by its owner whenever it may be.
#[cfg(not(loom))]
pub(super) struct ClosedChaseLev;

#[cfg(not(loom))]
pub(super) struct Closing<T>(ChaseLevOwner<T>);

#[cfg(not(loom))]
impl<T> Owner<T> for Closing<T> {
    fn push_new(&self, item: NonNull<T>) {
        let (index, done) = self.0.push(item);
        if !done && self.0.at_the_ceiling(index) == Pushed::Openly && self.0.should_close() {
            self.0.close();
        }
    }
    fn pop_newest(&self) -> Option<NonNull<T>> {
        self.0.pop_newest()
    }
}

#[cfg(not(loom))]
impl Kind for ClosedChaseLev {
    type Owner<T: 'static> = Closing<T>;
    type Thief<T: 'static> = ChaseLevThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        let may_close = crate::os::heavy_barrier_works();
        let (owner, thief) = chase_lev(may_close);
        if may_close {
            assert!(owner.close(), "no thief is there yet");
        }
        (Closing(owner), thief)
    }
}

pub(super) struct AbpArray;

impl Kind for AbpArray {
    type Owner<T: 'static> = AbpArrayOwner<T>;
    type Thief<T: 'static> = AbpArrayThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        abp_array(false)
    }
}

/// The same, whose thieves make the fences.
pub(super) struct AbpBarrier;

impl Kind for AbpBarrier {
    type Owner<T: 'static> = AbpArrayOwner<T>;
    type Thief<T: 'static> = AbpArrayThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        abp_array(crate::os::heavy_barrier_works())
    }
}

/// A kind with a lock, which tells how many callers found it taken.
#[cfg(not(loom))]
pub(super) trait WithLock: Kind {
    fn meter<T: 'static>(thief: &Self::Thief<T>) -> &LockMeter;
}

#[cfg(not(loom))]
macro_rules! kind_with_lock {
    ($name:ident, $lock:ident) => {
        pub(super) struct $name;

        impl Kind for $name {
            type Owner<T: 'static> = LockedOwner<T, $lock<Ring<T>>>;
            type Thief<T: 'static> = LockedThief<T, $lock<Ring<T>>>;
            fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
                locked()
            }
        }

        impl WithLock for $name {
            fn meter<T: 'static>(thief: &Self::Thief<T>) -> &LockMeter {
                thief.meter()
            }
        }
    };
}

#[cfg(not(loom))]
kind_with_lock!(Spinning, SpinningLock);
#[cfg(not(loom))]
kind_with_lock!(Blocking, BlockingLock);
