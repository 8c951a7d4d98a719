//! The deque of a worker, in two handles: its own, and that of all others.
//!
//! It is the growable one of Chase and Lev. With the feature `alternatives`, a pool may keep its
//! tasks in another one: then the built-in deque stays open and empty.

use std::ptr::NonNull;
use std::time::Duration;

#[cfg(feature = "alternatives")]
use super::alternatives::{AnyOwner, AnyThief, DequeKind, any};
use super::{
    ChaseLevOwner, ChaseLevThief, Closable, Closed, Owner, Pushed, Steal, TakeBack, Thief,
    chase_lev,
};

/// The worker's own handle.
#[derive(Debug)]
#[repr(C)] // what is used most first: shorter instructions
pub(crate) struct OwnDeque<T> {
    built_in: ChaseLevOwner<T>,
    #[cfg(feature = "alternatives")]
    other: Option<AnyOwner<T>>,
}

/// The handle of thieves.
#[derive(Debug)]
pub(crate) struct SharedDeque<T> {
    built_in: ChaseLevThief<T>,
    #[cfg(feature = "alternatives")]
    other: Option<AnyThief<T>>,
}

/// Which deque a pool has: the built-in one, if not chosen otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice {
    #[cfg(feature = "alternatives")]
    pub(crate) kind: Option<DequeKind>,
}

/// What a slow push came to.
#[must_use]
pub(crate) enum SlowPush<T> {
    /// The item lies in a closed deque: a searching worker has it opened.
    Closed,
    /// The item lies in an open deque: the owner looks after sleeping workers.
    Open,
    /// A bounded deque is full, and the item is back.
    #[cfg_attr(not(feature = "alternatives"), allow(dead_code, reason = "others are bounded"))]
    Full(NonNull<T>),
}

impl Choice {
    /// An empty deque. `heavy_barriers`: whether thieves may make them.
    pub(crate) fn deque<T>(self, heavy_barriers: bool) -> (OwnDeque<T>, SharedDeque<T>) {
        #[cfg(feature = "alternatives")]
        if let Some(kind) = self.kind {
            let (own, shared) = chase_lev(false);
            let (other, other_thief) = any(kind, heavy_barriers);
            return (
                OwnDeque { built_in: own, other: Some(other) },
                SharedDeque { built_in: shared, other: Some(other_thief) },
            );
        }
        let (own, shared) = chase_lev(heavy_barriers);
        (
            OwnDeque {
                built_in: own,
                #[cfg(feature = "alternatives")]
                other: None,
            },
            SharedDeque {
                built_in: shared,
                #[cfg(feature = "alternatives")]
                other: None,
            },
        )
    }
}

impl<T> OwnDeque<T> {
    /// Adds an item that is newer than all others, at the index that is returned. Also says whether
    /// that was all: if not, the caller calls [`after_slow_push`](Self::after_slow_push) next.
    #[inline]
    pub(crate) fn push(&self, item: NonNull<T>) -> (i64, bool) {
        self.built_in.push(item)
    }

    /// What [`push`](Self::push) does where pushes are not redirected.
    #[inline]
    pub(crate) fn push_real(&self, item: NonNull<T>) -> (i64, bool) {
        self.built_in.push_real(item)
    }

    /// From now on [`push`](Self::push) adds nothing and says that there is more to do.
    pub(crate) fn redirect(&self) {
        self.built_in.redirect();
    }

    pub(crate) fn after_slow_push(&self, index: i64) -> SlowPush<T> {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            let item =
                self.built_in.retract().expect("it was just pushed, and no thief looks there");
            return match other.try_push_new(item) {
                Ok(()) => SlowPush::Open,
                Err(item) => SlowPush::Full(item),
            };
        }
        match self.built_in.at_the_ceiling(index) {
            Pushed::Closed => SlowPush::Closed,
            Pushed::Openly => SlowPush::Open,
        }
    }

    /// Takes back what was pushed to `index`, if it is the newest item.
    #[inline]
    pub(crate) fn take_back(&self, index: i64) -> TakeBack {
        self.built_in.take_back(index)
    }

    /// Decides which side has the item that [`take_back`](Self::take_back) found contended.
    pub(crate) fn pop_lowered(&self, index: i64) -> Option<NonNull<T>> {
        self.built_in.pop_lowered(index)
    }

    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            return other.pop_newest();
        }
        self.built_in.pop_newest()
    }

    /// The index of the next push; the largest number where indices tell nothing.
    #[inline]
    pub(crate) fn end(&self) -> i64 {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return i64::MAX;
        }
        self.built_in.end()
    }

    /// Whether it is known that there is one item at most.
    pub(crate) fn holds_one_at_most(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return false;
        }
        self.built_in.holds_one_at_most()
    }
}

impl<T> Closable for OwnDeque<T> {
    fn should_close(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return false;
        }
        self.built_in.should_close()
    }

    fn close(&self) -> bool {
        self.built_in.close()
    }

    fn open(&self) {
        self.built_in.open();
    }
}

impl<T> SharedDeque<T> {
    pub(crate) fn steal_oldest(&self) -> Steal<T> {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            return other.steal_oldest();
        }
        self.built_in.steal_oldest()
    }

    /// Steals from the built-in deque, if that is wanted when it has been seen what the oldest is.
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce() -> bool) -> Steal<T> {
        // What its owner pushes to the built-in deque goes on to the other one: no thief may take it
        // in between.
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return Steal::Empty;
        }
        self.built_in.steal_oldest_if(is_wanted)
    }

    /// Two numbers that change together with the contents; `None` if the deque has none.
    pub(crate) fn marks(&self) -> Option<(i64, i64)> {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return None;
        }
        Some(self.built_in.marks())
    }

    /// Whether there seemed to be several items, a moment ago. True where that is not known.
    pub(crate) fn holds_several(&self) -> bool {
        self.marks().is_none() || self.built_in.items_seen() > 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            return other.is_empty();
        }
        self.built_in.is_empty()
    }

    /// Asks the owner of a closed deque to open it.
    pub(crate) fn ask(&self) -> Option<Closed> {
        self.built_in.ask()
    }

    /// Opens a closed deque, after a heavy barrier.
    pub(crate) fn open(&self, closed: Closed) {
        self.built_in.open(closed);
    }

    /// How long callers have waited for a lock of the deque.
    pub(crate) fn lock_wait(&self) -> Duration {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            return other.lock_wait();
        }
        Duration::ZERO
    }
}
