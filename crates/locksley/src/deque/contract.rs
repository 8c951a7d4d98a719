//! What every deque of this crate offers.
//!
//! A deque has one owner and any number of thieves, as two handle types. An item is one non-null
//! word; the deque never follows it.

use std::ptr::NonNull;

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
    #[cfg_attr(not(feature = "alternatives"), allow(dead_code, reason = "others are bounded"))]
    Full(NonNull<T>),
}

/// The owner's end: the newest items. Only one thread may have it.
pub(crate) trait Owner<T> {
    /// Adds an item that is newer than all others.
    #[cfg_attr(not(test), allow(dead_code, reason = "for kinds of deques that are not built in"))]
    fn push_new(&self, item: NonNull<T>);
    /// Takes the newest item.
    fn pop_newest(&self) -> Option<NonNull<T>>;
}

/// The thieves' end: the oldest items.
pub(crate) trait Thief<T>: Send + Sync {
    /// Tries once to take the oldest item.
    fn steal_oldest(&self) -> Steal<T>;
    /// True if the deque was empty at some moment during the call.
    fn is_empty(&self) -> bool;
    /// Opens a closed deque, even if its owner is suspended.
    #[cfg_attr(not(test), allow(dead_code, reason = "thieves open all deques by one barrier"))]
    fn open_by_force(&self) {}
}

/// A deque that its owner may close. While it is closed, the owner pushes and pops without fences.
pub(crate) trait Closable {
    /// True if enough pushes passed without a steal for closing to pay off.
    fn should_close(&self) -> bool;

    /// Closes the deque. Returns false if a thief prevented it.
    fn close(&self) -> bool;

    /// Opens the deque, if it is closed.
    fn open(&self);
}

/// A kind of deque, by type: for the test suite and the models.
#[cfg(test)]
pub(crate) trait Kind {
    type Owner<T: 'static>: Owner<T> + Send + 'static;
    type Thief<T: 'static>: Thief<T> + Clone + 'static;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>);
}
