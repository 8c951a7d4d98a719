//! The deque of a worker, as two handles: the owner's and the thieves'.
//!
//! It is Chase and Lev's. With the feature `alternatives`, a pool may use another deque. Then the
//! built-in one stays open and empty.

use std::ptr::NonNull;
use std::time::Duration;

#[cfg(feature = "alternatives")]
use super::alternatives::{AnyOwner, AnyThief, DequeKind, any};
use super::{
    ChaseLevOwner, ChaseLevThief, Closable, OpenRequest, Owner, SlowPush, Steal, TakeBack, Thief,
    chase_lev,
};

/// The owner's handle.
#[derive(Debug)]
#[repr(C)] // hot fields first: shorter instructions
pub(crate) struct OwnDeque<T> {
    built_in: ChaseLevOwner<T>,
    #[cfg(feature = "alternatives")]
    other: Option<AnyOwner<T>>,
}

/// A thief's handle.
#[derive(Debug)]
pub(crate) struct SharedDeque<T> {
    built_in: ChaseLevThief<T>,
    #[cfg(feature = "alternatives")]
    other: Option<AnyThief<T>>,
}

/// The deque that the workers of a pool use. The default is the built-in one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DequeChoice {
    #[cfg(feature = "alternatives")]
    pub(crate) kind: Option<DequeKind>,
}

impl DequeChoice {
    /// Makes an empty deque. `heavy_barriers` is true if thieves may use heavy barriers.
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
    /// Adds an item that is newer than all others. Returns its index, and true if the push is
    /// complete. If it is not, the caller calls [`after_slow_push`](Self::after_slow_push) next.
    #[inline]
    pub(crate) fn push(&self, item: NonNull<T>) -> (i64, bool) {
        self.built_in.push(item)
    }

    /// [`push`](Self::push), which is never redirected.
    #[inline]
    pub(crate) fn push_real(&self, item: NonNull<T>) -> (i64, bool) {
        self.built_in.push_real(item)
    }

    /// From now on [`push`](Self::push) adds nothing and is never complete.
    pub(crate) fn redirect(&self) {
        self.built_in.redirect();
    }

    /// Completes a push to `index`.
    pub(crate) fn after_slow_push(&self, index: i64) -> SlowPush<T> {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            let item = self.built_in.retract().expect("just pushed, and invisible to thieves");
            return match other.try_push_new(item) {
                Ok(()) => SlowPush::Open,
                Err(item) => SlowPush::Full(item),
            };
        }
        self.built_in.after_slow_push(index)
    }

    /// Takes the item at `index` back, if it is the newest.
    #[inline]
    pub(crate) fn take_back(&self, index: i64) -> TakeBack {
        self.built_in.take_back(index)
    }

    /// Takes the item that [`take_back`](Self::take_back) found contended, if no thief was faster.
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

    /// The index of the next push. The largest number in a deque without indices.
    #[inline]
    pub(crate) fn bottom(&self) -> i64 {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return i64::MAX;
        }
        self.built_in.bottom()
    }

    /// True if the deque is known to hold at most one item.
    pub(crate) fn has_at_most_one_item(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return false;
        }
        self.built_in.has_at_most_one_item()
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

    /// Steals from the built-in deque. `is_wanted` is called after the oldest item was read, and
    /// before it is taken.
    pub(crate) fn steal_oldest_if(&self, is_wanted: impl FnOnce() -> bool) -> Steal<T> {
        // The owner moves what it pushes here to the other deque: no thief may take it in between.
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return Steal::Empty;
        }
        self.built_in.steal_oldest_if(is_wanted)
    }

    /// The indices of the oldest item and of the next push; `None` in a deque without indices.
    pub(crate) fn bounds(&self) -> Option<(i64, i64)> {
        #[cfg(feature = "alternatives")]
        if self.other.is_some() {
            return None;
        }
        Some(self.built_in.bounds())
    }

    /// True if the deque held several items a moment ago, or if that is not known.
    pub(crate) fn has_several_items(&self) -> bool {
        self.bounds().is_none() || self.built_in.approximate_len() > 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            return other.is_empty();
        }
        self.built_in.is_empty()
    }

    /// Requests that the owner open the deque, if it is closed.
    pub(crate) fn request_open(&self) -> Option<OpenRequest> {
        self.built_in.request_open()
    }

    /// Opens a closed deque by force, after a heavy barrier.
    pub(crate) fn open(&self, request: OpenRequest) {
        self.built_in.open(request);
    }

    /// The time that callers have waited for a lock of the deque.
    pub(crate) fn lock_wait(&self) -> Duration {
        #[cfg(feature = "alternatives")]
        if let Some(other) = &self.other {
            return other.lock_wait();
        }
        Duration::ZERO
    }
}
