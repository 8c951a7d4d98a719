//! One type for all of them, so that a pool can be given any: a choice made at run time, which costs a branch.

use std::ptr::NonNull;
use std::time::Duration;

use super::kind::DequeKind;
use super::locked::Ring;
use super::{
    AbpArrayOwner, AbpArrayThief, BlockingLock, LockedOwner, LockedThief, SpinningLock, abp_array,
    locked,
};
use crate::deque::contract::{Owner, Steal, Thief};

type Spinning<T> = SpinningLock<Ring<T>>;
type Blocking<T> = BlockingLock<Ring<T>>;

/// The owner's handle of any of these deques.
#[derive(Debug)]
pub(crate) enum AnyOwner<T> {
    AbpArray(AbpArrayOwner<T>),
    SpinningLock(LockedOwner<T, Spinning<T>>),
    BlockingLock(LockedOwner<T, Blocking<T>>),
}

/// A thief's handle of any of these deques.
#[derive(Debug)]
pub(crate) enum AnyThief<T> {
    AbpArray(AbpArrayThief<T>),
    SpinningLock(LockedThief<T, Spinning<T>>),
    BlockingLock(LockedThief<T, Blocking<T>>),
}

/// An empty deque of the kind that was chosen. `heavy_barriers`: whether thieves may make them.
pub(crate) fn any<T>(kind: DequeKind, heavy_barriers: bool) -> (AnyOwner<T>, AnyThief<T>) {
    match kind {
        DequeKind::AbpArray | DequeKind::AbpBarrier => {
            let (owner, thief) = abp_array(kind == DequeKind::AbpBarrier && heavy_barriers);
            (AnyOwner::AbpArray(owner), AnyThief::AbpArray(thief))
        }
        DequeKind::SpinningLock => {
            let (owner, thief) = locked();
            (AnyOwner::SpinningLock(owner), AnyThief::SpinningLock(thief))
        }
        DequeKind::BlockingLock => {
            let (owner, thief) = locked();
            (AnyOwner::BlockingLock(owner), AnyThief::BlockingLock(thief))
        }
    }
}

impl<T> AnyOwner<T> {
    /// Adds an item that is newer than all others. If the deque is bounded and full, nothing happens and the item comes
    /// back.
    pub(crate) fn try_push_new(&self, item: NonNull<T>) -> Result<(), NonNull<T>> {
        match self {
            Self::AbpArray(owner) => return owner.try_push_new(item),
            Self::SpinningLock(owner) => owner.push_new(item),
            Self::BlockingLock(owner) => owner.push_new(item),
        }
        Ok(())
    }

    /// Takes the newest item back.
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        match self {
            Self::AbpArray(owner) => owner.pop_newest(),
            Self::SpinningLock(owner) => owner.pop_newest(),
            Self::BlockingLock(owner) => owner.pop_newest(),
        }
    }
}

impl<T> AnyThief<T> {
    /// How long callers, the owner included, waited for this deque's lock; without one: not at all.
    pub(crate) fn lock_wait(&self) -> Duration {
        match self {
            Self::AbpArray(_) => Duration::ZERO,
            Self::SpinningLock(thief) => thief.meter().waited(),
            Self::BlockingLock(thief) => thief.meter().waited(),
        }
    }
}

impl<T> Clone for AnyThief<T> {
    fn clone(&self) -> Self {
        match self {
            Self::AbpArray(thief) => Self::AbpArray(thief.clone()),
            Self::SpinningLock(thief) => Self::SpinningLock(thief.clone()),
            Self::BlockingLock(thief) => Self::BlockingLock(thief.clone()),
        }
    }
}

impl<T> Thief<T> for AnyThief<T> {
    fn steal_oldest(&self) -> Steal<T> {
        match self {
            Self::AbpArray(thief) => thief.steal_oldest(),
            Self::SpinningLock(thief) => thief.steal_oldest(),
            Self::BlockingLock(thief) => thief.steal_oldest(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::AbpArray(thief) => thief.is_empty(),
            Self::SpinningLock(thief) => thief.is_empty(),
            Self::BlockingLock(thief) => thief.is_empty(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_kind_can_be_chosen() {
        for kind in [
            DequeKind::AbpArray,
            DequeKind::AbpBarrier,
            DequeKind::SpinningLock,
            DequeKind::BlockingLock,
        ] {
            let (owner, thief) = any::<u8>(kind, crate::os::heavy_barrier_works());
            let item = NonNull::dangling();
            assert_eq!(owner.try_push_new(item), Ok(()), "{kind:?}");
            assert_eq!(owner.try_push_new(item), Ok(()), "{kind:?}");
            assert!(!thief.is_empty());
            assert_eq!(thief.clone().steal_oldest(), Steal::Taken(item), "{kind:?}");
            assert_eq!(owner.pop_newest(), Some(item), "{kind:?}");
            assert_eq!(owner.pop_newest(), None, "{kind:?}");
            assert!(thief.is_empty());
            assert_eq!(thief.lock_wait(), Duration::ZERO, "nobody was in the way");
        }
    }
}
