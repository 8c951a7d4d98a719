//! What every deque of this crate offers, whatever it is made of.
//!
//! A deque has one owner and any number of thieves, as two handle types. An item is one non-null word; the deque never
//! looks at what it points to.

use std::ptr::NonNull;

/// What a thief brought home.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Steal<T> {
    /// The oldest item, now the thief's alone.
    Taken(NonNull<T>),
    /// There was nothing to take.
    Empty,
    /// Another thief, or the owner, was faster: somebody made progress.
    Lost,
    /// The owner has the deque to itself, and has been asked to open it.
    Kept,
}

/// The owner's end: the newest items. Not to be shared: whoever has it is the only one who pushes and pops.
pub(crate) trait Owner<T> {
    /// Adds an item that is newer than all others.
    #[cfg_attr(not(test), allow(dead_code, reason = "for kinds of deques that are not built in"))]
    fn push_new(&self, item: NonNull<T>);
    /// Takes the newest item back.
    fn pop_newest(&self) -> Option<NonNull<T>>;
}

/// The thieves' end: the oldest items.
pub(crate) trait Thief<T>: Send + Sync {
    /// Tries once to take the oldest item.
    fn steal_oldest(&self) -> Steal<T>;
    /// Whether there was nothing to take at the moment of asking.
    fn is_empty(&self) -> bool;
    /// Makes the next attempt independent of an owner that keeps the deque to itself and does not answer.
    #[cfg_attr(not(test), allow(dead_code, reason = "thieves open all deques by one barrier"))]
    fn open_by_force(&self) {}
}

/// A deque that its owner may close, so that it pushes without fences.
pub(crate) trait Closable {
    /// Whether the owner was left alone for so long that it should close the deque.
    fn should_close(&self) -> bool;

    /// Closes the deque. Says whether that worked.
    fn close(&self) -> bool;

    fn open(&self);
}

/// A kind of deque: makes the two handles. Only the test suite and the models need to name a kind by a type.
#[cfg(test)]
pub(crate) trait Kind {
    type Owner<T: 'static>: Owner<T> + Send + 'static;
    type Thief<T: 'static>: Thief<T> + Clone + 'static;
    fn pair<T: 'static>() -> (Self::Owner<T>, Self::Thief<T>);
}
