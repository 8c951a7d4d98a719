//! How all loops divide: by halves, with a fork for each, down to leaves.

use std::convert::Infallible;

use super::parts::Parts;
use crate::cancellation::{Cancellation, Cancelled};
use crate::held::Place;
use crate::worker::Worker;

/// What may stop a loop.
pub(super) trait Stop: Copy + Send + Sync {
    /// What a loop says that was stopped.
    type Stopped: Send;

    /// Asked before the loop divides, and before each leaf.
    fn check(self) -> Result<(), Self::Stopped>;
}

/// What nothing stops asks nothing, and has one outcome only.
#[derive(Clone, Copy)]
pub(super) struct Never;

impl Stop for Never {
    type Stopped = Infallible;

    #[inline(always)]
    fn check(self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Stop for &Cancellation {
    type Stopped = Cancelled;

    #[inline(always)]
    fn check(self) -> Result<(), Cancelled> {
        Cancellation::check(self)
    }
}

/// How large leaves are.
pub(super) trait Leaves: Sync + Sized {
    /// The most items of a leaf.
    fn items(&self) -> usize;

    /// Runs a leaf of so many items.
    fn run<R>(&self, items: usize, leaf: impl FnOnce() -> R) -> R;

    /// For a worker that has taken over a part, if that has its own.
    fn handed_to(&self, worker: &Worker) -> Option<Self>;
}

/// Leaves of at most so many items.
pub(super) struct AtMost(pub(super) usize);

impl Leaves for AtMost {
    #[inline(always)]
    fn items(&self) -> usize {
        self.0
    }

    #[inline(always)]
    fn run<R>(&self, _items: usize, leaf: impl FnOnce() -> R) -> R {
        leaf()
    }

    #[inline(always)]
    fn handed_to(&self, _worker: &Worker) -> Option<Self> {
        None
    }
}

/// What a half has already made is dropped where the other one is missing.
pub(super) fn divide<P: Parts, R: Send, S: Stop>(
    worker: &Worker,
    stop: S,
    parts: P,
    leaves: &impl Leaves,
    leaf: &(impl Fn(P) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> Result<R, S::Stopped> {
    stop.check()?;
    let items = parts.len();
    if items <= leaves.items() {
        return Ok(leaves.run(items, || leaf(parts)));
    }
    let (left, right) = parts.split_at(items / 2);
    let (left, right) = worker.join_at(
        Place::here(),
        |w| divide(w, stop, left, leaves, leaf, combine),
        |w| match leaves.handed_to(w) {
            None => divide(w, stop, right, leaves, leaf, combine),
            Some(own) => divide(w, stop, right, &own, leaf, combine),
        },
    );
    Ok(combine(left?, right?))
}
