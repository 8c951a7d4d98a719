//! The deques of Hood's study ("The Performance of Work Stealing in Multiprogrammed Environments",
//! 1998, section 4), for measurements only: two with a lock, and Hood's own bounded one.
//!
//! They pass the tests of all deques, except for the stall harness, which those with a lock must
//! fail. The laboratory enables them by the feature `alternatives`. The README beside this file has
//! the protocol of the bounded one.

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
