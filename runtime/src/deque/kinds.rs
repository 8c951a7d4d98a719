//! The kinds of deques by type, for the tests that all of them pass and for the models.

use super::alternatives::{AbpArrayOwner, AbpArrayThief, abp_array};
#[cfg(not(loom))]
use super::alternatives::{
    BlockingLock, LockMeter, LockedOwner, LockedThief, Ring, SpinningLock, locked,
};
use super::contract::Kind;
use super::{ChaseLevOwner, ChaseLevThief, chase_lev};

pub(super) struct ChaseLev;

impl Kind for ChaseLev {
    type Owner<T: 'static> = ChaseLevOwner<T>;
    type Thief<T: 'static> = ChaseLevThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        chase_lev()
    }
}

pub(super) struct AbpArray;

impl Kind for AbpArray {
    type Owner<T: 'static> = AbpArrayOwner<T>;
    type Thief<T: 'static> = AbpArrayThief<T>;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>) {
        abp_array()
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
