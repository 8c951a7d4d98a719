//! What the deques of this crate have in common.
//!
//! A deque has one owner and any number of thieves. An item is one non-null word; the deque never
//! follows it.

use std::ptr::NonNull;
use std::time::Duration;

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

/// The result of a push that the fast path could not complete.
#[must_use]
pub(crate) enum SlowPush<T> {
    /// The item is in a closed deque. A thief has the deque opened.
    Closed,
    /// The item is in an open deque. The caller wakes a sleeping worker if one is needed.
    Open,
    /// A bounded deque is full: the item was not pushed.
    Full(NonNull<T>),
}

/// A deque that takes the place of the built-in one, for comparisons.
pub(crate) trait Alternative<T>: Send + Sync {
    /// Adds an item that is newer than all others. A full bounded deque returns the item. For the
    /// owner only.
    fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>>;

    /// Takes the newest item. For the owner only.
    fn pop_newest(&self) -> Option<NonNull<T>>;

    /// Tries once to take the oldest item.
    fn steal_oldest(&self) -> Steal<T>;

    /// True if the deque was empty at some moment during the call.
    fn is_empty(&self) -> bool;

    /// As [`try_push_new`](Self::try_push_new), for any thread. Returns the item if only the owner
    /// may push.
    fn push_from_any(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        Err(item)
    }

    /// The time that callers, including the owner, have waited for the deque's lock.
    fn lock_wait(&self) -> Duration {
        Duration::ZERO
    }
}
