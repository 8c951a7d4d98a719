//! The deques of Hood's study ("The Performance of Work Stealing in Multiprogrammed Environments",
//! 1998, section 4), for measurements only: two with a lock, and Hood's own bounded one.
//!
//! They pass the tests of all deques, except for the stall harness, which those with a lock must
//! fail. The laboratory enables them by the feature `alternatives`. The README beside this file has
//! the protocol of the bounded one.

mod abp_array;
mod locked;

use std::sync::Arc;

use super::contract::Alternative;

pub(crate) use abp_array::AbpArray;
#[cfg(test)]
pub(crate) use locked::Lock;
pub(crate) use locked::{BlockingLock, Locked, SpinningLock};

/// A deque for comparisons, in place of the growable one of Chase and Lev: one of those in Hood's
/// study ("The Performance of Work Stealing in Multiprogrammed Environments", 1998, section 4).
///
/// With a lock, any worker may push to any deque. A task that becomes ready then goes to the front
/// of its last worker's deque ([`Placement::Last`](crate::task::Placement::Last), exactly as in
/// Nornir), and a task for a place to the deque of the first worker there, which serves as the
/// place's.
///
/// # Examples
/// ```
/// use locksley::{Pool, alternatives::DequeKind};
///
/// let pool = Pool::builder().workers(2).deque(DequeKind::SpinningLock).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(feature = "alternatives"),
    allow(unreachable_pub, reason = "unit tests without the feature")
)]
pub enum DequeKind {
    /// The bounded non-blocking array of Arora, Blumofe and Plaxton (SPAA 1998), which Hood used.
    AbpArray,
    /// A ring in a lock. A caller that finds the lock taken spins.
    SpinningLock,
    /// A ring in a lock. A caller that finds the lock taken blocks.
    BlockingLock,
}

impl DequeKind {
    /// Makes an empty deque.
    pub(crate) fn deque<T: 'static>(self) -> Arc<dyn Alternative<T>> {
        match self {
            Self::AbpArray => Arc::new(AbpArray::new()),
            Self::SpinningLock => Arc::new(Locked::<T, SpinningLock>::new()),
            Self::BlockingLock => Arc::new(Locked::<T, BlockingLock>::new()),
        }
    }
}
