//! The deques that Hood's study compares ("The Performance of Work Stealing in Multiprogrammed Environments", 1998,
//! section 4), to be measured and not to be used: two that have a lock, and the bounded one that Hood itself had.
//!
//! They have the contract of all deques and pass the same tests, but for the stall harness, which those with a lock
//! must fail. Only the laboratory turns them on (feature `alternatives`).

mod abp_array;
mod any;
mod blocking_lock;
mod kind;
mod locked;
mod spinning_lock;

pub(crate) use abp_array::{AbpArrayOwner, AbpArrayThief, abp_array};
pub(crate) use any::{AnyOwner, AnyThief, any};
#[cfg(feature = "alternatives")]
pub use kind::DequeKind;
#[cfg(all(test, not(loom)))]
pub(crate) use locked::{LockMeter, Ring};
pub(crate) use locked::{LockedOwner, LockedThief, locked};
pub(crate) use {blocking_lock::BlockingLock, spinning_lock::SpinningLock};
