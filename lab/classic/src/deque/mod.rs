//! The deques of Hood's study ("The Performance of Work Stealing in Multiprogrammed Environments",
//! 1998, sections 3.2 and 4): the non-blocking one, and two with a lock.

mod abp_array;
mod locked;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ptr::NonNull;
use std::time::Duration;

pub use abp_array::AbpArray;
pub use locked::{BlockingLock, Locked, SpinningLock};

/// A double-ended queue of pointers. The owner works at the bottom, thieves at the top.
pub trait Deque<T>: Send + Sync {
    /// Adds an item at the bottom. A full deque returns it. For the owner only, unless the deque
    /// [`is_shared`](Self::is_shared).
    fn push_bottom(&self, item: NonNull<T>) -> Result<(), NonNull<T>>;

    /// Takes the item at the bottom. For the owner only, unless the deque
    /// [`is_shared`](Self::is_shared).
    fn pop_bottom(&self) -> Option<NonNull<T>>;

    /// Tries once to take the item at the top.
    fn pop_top(&self) -> Option<NonNull<T>>;

    /// Adds an item at the top. A deque that cannot do that returns it.
    fn push_top(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        Err(item)
    }

    /// True if any thread may use both ends.
    fn is_shared(&self) -> bool {
        false
    }

    /// The time that callers, including the owner, have waited for the deque's lock.
    fn lock_wait(&self) -> Duration {
        Duration::ZERO
    }
}
