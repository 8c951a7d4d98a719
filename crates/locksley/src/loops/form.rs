//! What all forms of a loop have in common, whether something may stop it or not, and wherever its items go.

use std::convert::Infallible;

use super::among::Among;
use super::divide::{Stop, divide};
use super::filled::{Filled, Output, collected};
use super::grain::Grain;
use super::{Called, Parts, told};
use crate::worker::Worker;

/// A form of a loop, on a worker.
pub(super) struct Form<'w, S, A> {
    worker: &'w Worker,
    called: Called,
    stop: S,
    among: A,
}

impl<'w, S: Stop, A: Among> Form<'w, S, A> {
    pub(super) fn of(worker: &'w Worker, called: Called, stop: S, among: A) -> Self {
        Self { worker, called, stop, among }
    }

    pub(super) fn for_each<P: Parts>(
        self,
        parts: P,
        body: impl Fn(P::Item) + Sync,
    ) -> Result<(), S::Stopped> {
        self.fold(parts, &|parts: P| parts.into_items().for_each(&body), &|(), ()| ())
    }

    pub(super) fn map<P: Parts, R: Send>(
        self,
        parts: P,
        body: impl Fn(P::Item) -> R + Sync,
    ) -> Result<Vec<R>, S::Stopped> {
        collected(parts, |output| {
            self.fold(output, &|output| Output::fill(output, &body), &Filled::join)
        })
    }

    pub(super) fn reduce<P: Parts, R: Send>(
        self,
        parts: P,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, S::Stopped> {
        self.fold(parts, &|parts: P| parts.into_items().fold(identity(), &fold), &combine)
    }

    #[track_caller]
    pub(super) fn reduce_in_shape<P: Parts, R: Send>(
        self,
        parts: P,
        leaf: usize,
        identity: impl Fn() -> R + Sync,
        fold: impl Fn(R, P::Item) -> R + Sync,
        combine: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, S::Stopped> {
        assert!(leaf > 0, "leaves of no items");
        let Self { worker, called, stop, among } = self;
        let fold = |parts: P| parts.into_items().fold(identity(), &fold);
        told(worker, called, || {
            among.in_shape(worker, (stop, called.site), parts, leaf, &fold, &combine)
        })
    }

    /// By leaves whose size is found.
    fn fold<P: Parts, R: Send>(
        self,
        parts: P,
        leaf: &(impl Fn(P) -> R + Sync),
        combine: &(impl Fn(R, R) -> R + Sync),
    ) -> Result<R, S::Stopped> {
        let Self { worker, called, stop, among } = self;
        let part = |worker: &Worker, parts| {
            divide(worker, stop, parts, &Grain::unknown(worker), leaf, combine)
        };
        told(worker, called, || {
            among.parts(worker, called.site, parts, &part, &|a, b| Ok(combine(a?, b?)))
        })
    }
}

/// What comes of a loop that nothing stops.
#[inline(always)]
pub(super) fn always<R>(result: Result<R, Infallible>) -> R {
    let Ok(result) = result;
    result
}
