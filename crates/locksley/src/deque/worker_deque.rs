//! The deque of a worker, as two handles: the owner's and the thieves'.
//!
//! It is Chase and Lev's. With the feature `alternatives`, a pool may use another deque. Then the
//! built-in one stays open, and holds an item only during a push.

use std::ops::Deref;
use std::ptr::NonNull;
#[cfg(feature = "alternatives")]
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "alternatives")]
use super::alternatives::DequeKind;
use super::contract::{Alternative, SlowPush, Steal};
use super::{ChaseLevOwner, ChaseLevThief, chase_lev};

/// The owner's handle. Dereferences to the built-in deque: what is not defined here is the same
/// whichever deque the pool uses.
#[repr(C)] // hot fields first: shorter instructions
pub(crate) struct OwnDeque<T> {
    built_in: ChaseLevOwner<T>,
    #[cfg(feature = "alternatives")]
    other: Option<Arc<dyn Alternative<T>>>,
}

/// A thief's handle. Dereferences as [`OwnDeque`] does.
pub(crate) struct SharedDeque<T> {
    built_in: ChaseLevThief<T>,
    #[cfg(feature = "alternatives")]
    other: Option<Arc<dyn Alternative<T>>>,
}

/// The deque that the workers of a pool use. The default is the built-in one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DequeChoice {
    #[cfg(feature = "alternatives")]
    pub(crate) kind: Option<DequeKind>,
}

impl DequeChoice {
    /// Makes an empty deque. `heavy_barriers` is true if thieves may use heavy barriers.
    pub(crate) fn deque<T: 'static>(self, heavy_barriers: bool) -> (OwnDeque<T>, SharedDeque<T>) {
        #[cfg(feature = "alternatives")]
        let other = self.kind.map(DequeKind::deque);
        #[cfg(feature = "alternatives")]
        let heavy_barriers = heavy_barriers && other.is_none();
        let (own, shared) = chase_lev(heavy_barriers);
        let own = OwnDeque {
            built_in: own,
            #[cfg(feature = "alternatives")]
            other: other.clone(),
        };
        let shared = SharedDeque {
            built_in: shared,
            #[cfg(feature = "alternatives")]
            other,
        };
        (own, shared)
    }
}

impl<T> OwnDeque<T> {
    /// The deque that takes the place of the built-in one. Always `None` without the feature.
    #[inline]
    fn other(&self) -> Option<&dyn Alternative<T>> {
        #[cfg(feature = "alternatives")]
        return self.other.as_deref();
        #[cfg(not(feature = "alternatives"))]
        None
    }

    /// Completes a push to `index`.
    pub(crate) fn after_slow_push(&self, index: i64) -> SlowPush<T> {
        let Some(other) = self.other() else { return self.built_in.after_slow_push(index) };
        let item = self.built_in.retract().expect("just pushed, and invisible to thieves");
        other.try_push_new(item).map_or_else(SlowPush::Full, |()| SlowPush::Open)
    }

    /// Takes the newest item.
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        match self.other() {
            Some(other) => other.pop_newest(),
            None => self.built_in.pop_newest(),
        }
    }

    /// The index of the next push. 0 in a deque without indices.
    #[inline]
    pub(crate) fn bottom(&self) -> i64 {
        if self.other().is_some() { 0 } else { self.built_in.bottom() }
    }

    /// True if an item may have the index `start`, or a greater one. `start` was a
    /// [`bottom`](Self::bottom), or is `i64::MAX`, the index of no item.
    pub(crate) fn may_have(&self, start: i64) -> bool {
        start < if self.other().is_some() { i64::MAX } else { self.built_in.bottom() }
    }

    /// True if the deque is known to hold at most one item.
    pub(crate) fn has_at_most_one_item(&self) -> bool {
        self.other().is_none() && self.built_in.has_at_most_one_item()
    }
}

impl<T> Deref for OwnDeque<T> {
    type Target = ChaseLevOwner<T>;

    #[inline]
    fn deref(&self) -> &ChaseLevOwner<T> {
        &self.built_in
    }
}

impl<T> SharedDeque<T> {
    #[inline]
    fn other(&self) -> Option<&dyn Alternative<T>> {
        #[cfg(feature = "alternatives")]
        return self.other.as_deref();
        #[cfg(not(feature = "alternatives"))]
        None
    }

    /// Pushes an item from any thread: the newest of all. Returns the item if only the owner may
    /// push, as to the built-in deque.
    pub(crate) fn push_from_any(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        self.other().map_or(Err(item), |other| other.push_from_any(item))
    }

    /// Tries once to take the oldest item.
    pub(crate) fn steal_oldest(&self) -> Steal<T> {
        match self.other() {
            Some(other) => other.steal_oldest(),
            None => self.built_in.steal_oldest(),
        }
    }

    /// Steals from the built-in deque. `is_wanted` is called after the oldest item was read, and
    /// before it is taken.
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce() -> bool) -> Steal<T> {
        // The owner moves what it pushes here to the other deque: no thief may take it in between.
        if self.other().is_some() { Steal::Empty } else { self.built_in.steal_oldest_if(is_wanted) }
    }

    /// True if the deque has indices: the built-in one.
    pub(crate) fn has_bounds(&self) -> bool {
        self.other().is_none()
    }

    /// The indices of the oldest item and of the next push; `None` in a deque without indices.
    pub(crate) fn bounds(&self) -> Option<(i64, i64)> {
        self.has_bounds().then(|| self.built_in.bounds())
    }

    /// True if the deque was empty at some moment during the call.
    pub(crate) fn is_empty(&self) -> bool {
        self.other().map_or_else(|| self.built_in.is_empty(), |other| other.is_empty())
    }

    /// The time that callers have waited for a lock of the deque.
    pub(crate) fn lock_wait(&self) -> Duration {
        self.other().map_or(Duration::ZERO, |other| other.lock_wait())
    }
}

impl<T> Deref for SharedDeque<T> {
    type Target = ChaseLevThief<T>;

    fn deref(&self) -> &ChaseLevThief<T> {
        &self.built_in
    }
}
