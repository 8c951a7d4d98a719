//! Strands: what a worker runs between two forks, joins or waits, as the meter sees it.
//!
//! While a worker runs a strand, its pushes are diverted: each comes to where the rare cases are told apart, and there it
//! is seen that the job has to carry the path with it. A worker that runs no strand knows nothing of this. See the README of
//! `meter/`.

mod carried;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use carried::carried_from;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::meter::{Clock, Figures, Meeting, Path, Region};
use crate::unwind::{self, Payload};
use crate::worker::Worker;

impl Worker {
    /// Whether it runs a strand.
    #[inline]
    pub(crate) fn is_metered(&self) -> bool {
        !self.running().region().is_null()
    }

    /// The region of the strand that it runs.
    pub(crate) fn region(&self) -> Option<&Arc<Region>> {
        // SAFETY: null, or borrowed by `as_strand` in a frame below the caller's, which sets it to null before it ends; and what is put
        // aside is not here. (Whoever keeps the reference longer than the strand runs does so in a frame above that one.)
        unsafe { self.running().region().as_ref() }
    }

    /// The path to this moment of the strand that it runs.
    pub(crate) fn path(&self) -> Option<Path> {
        self.region().map(|region| self.running().path(region.now()))
    }

    /// Runs `what` as a strand, at the end of a path; returns the path to its own end, too. Whatever this worker runs has been put
    /// aside.
    pub(crate) fn as_strand<R>(
        &self,
        region: &Arc<Region>,
        from: Path,
        what: impl FnOnce() -> R,
    ) -> (Result<R, Payload>, Path) {
        self.running().begin(region, from, region.now());
        self.divert();
        let result = unwind::halt(what);
        (result, self.ends_strand(region, region.now()))
    }

    fn ends_strand(&self, region: &Arc<Region>, now: i64) -> Path {
        self.divert_no_more();
        self.running().end(region, self.seat_index(), now)
    }

    /// Runs `what`, which may run anything and does not unwind, while the strand waits. Its path does not grow meanwhile.
    pub(crate) fn while_aside<R>(&self, what: impl FnOnce() -> R) -> R {
        match self.region() {
            None => what(),
            Some(region) => self.while_aside_since(region, region.now(), what),
        }
    }

    /// The same; it has waited since then.
    fn while_aside_since<R>(&self, region: &Arc<Region>, then: i64, what: impl FnOnce() -> R) -> R {
        let path = self.ends_strand(region, then);
        let result = what();
        self.running().begin(region, path, region.now());
        self.divert();
        result
    }

    /// A task ends for which others wait at that meeting. To be said before they may learn of it.
    pub(crate) fn arrives_at(&self, meeting: &Meeting) {
        if let Some(region) = self.region() {
            let now = region.now();
            self.running().settle(region, self.seat_index(), now);
            meeting.arrive(self.running().path(now).along(region.burden()));
        }
    }

    /// The strand has waited for those that have arrived there.
    pub(crate) fn comes_after(&self, meeting: &Meeting) {
        if let Some((region, latest)) = self.region().zip(meeting.latest()) {
            let now = region.now();
            self.running().go_on(self.running().path(now).meet(latest), now);
        }
    }

    /// The strand waits for something, or was waited for, in a way that carries no path.
    pub(crate) fn has_uncarried(&self) {
        if let Some(region) = self.region() {
            region.has_uncarried();
        }
    }

    /// Meters `task` as a region of its own, timed by `clock`; or, inside of another one, by that one's clock and from its path on:
    /// then the other goes on where this one ends.
    pub(crate) fn in_region<R>(
        &self,
        clock: Clock,
        task: impl FnOnce(&Worker) -> R,
    ) -> (Result<R, Payload>, Figures) {
        let seats = self.shared().seats();
        let Some((outer, from)) = self.region().zip(self.path()) else {
            return self.run_region(&Arc::new(Region::new(clock, Path::default(), seats)), task);
        };
        let region = Arc::new(Region::new(outer.clock(), from, seats));
        let (result, figures) = self.while_aside(|| self.run_region(&region, task));
        outer.add_inner(self.seat_index(), &figures);
        let now = outer.now();
        let end = Path {
            span: from.span + figures.path.span,
            burdened: from.burdened + figures.path.burdened,
        };
        self.running().go_on(end, now);
        (result, figures)
    }

    fn run_region<R>(
        &self,
        region: &Arc<Region>,
        task: impl FnOnce(&Worker) -> R,
    ) -> (Result<R, Payload>, Figures) {
        let (result, path) = self.as_strand(region, region.from(), || task(self));
        region.ends(path);
        (result, region.figures())
    }

    /// Runs both halves of a join: the first by `first`, the second by `second` if `take_back` finds that nobody has begun it, or else
    /// by `wait`. The strand forks at the call, and joins at the end.
    pub(crate) fn fork_and_join<RA, RB>(
        &self,
        fork: &Fork<'_>,
        first: impl FnOnce() -> RA,
        take_back: impl FnOnce() -> bool,
        second: impl FnOnce() -> RB,
        wait: impl FnOnce() -> RB,
    ) -> (RA, RB) {
        let first = first();
        let now = fork.region.now();
        if !take_back() {
            let second = self.while_aside_since(fork.region, now, wait);
            self.comes_after(&fork.end);
            return (first, second);
        }
        let running = self.running();
        let end_of_first = running.path(now);
        fork.is_taken_back.store(true, Ordering::Relaxed);
        running.go_on(fork.second(), now);
        let second = second();
        let now = fork.region.now();
        let end_of_second = running.path(now).along(fork.region.burden());
        running.go_on(end_of_first.meet(end_of_second), now);
        (first, second)
    }

    /// A fork of the strand that runs.
    pub(crate) fn fork_strand(&self) -> Option<Fork<'_>> {
        let region = self.region()?;
        let running = self.running();
        running.has_forked();
        let (at, end) = (running.path(region.now()), Meeting::new());
        Some(Fork { region, at, end, is_taken_back: AtomicBool::new(false) })
    }

    /// Runs the second half of a join, wherever that is.
    pub(crate) fn run_second<R>(&self, fork: &Fork<'_>, task: impl FnOnce(&Worker) -> R) -> R {
        // Relaxed: it is true only for whoever has set it.
        if fork.is_taken_back.load(Ordering::Relaxed) {
            return task(self);
        }
        let (result, path) = self.as_strand(fork.region, fork.second(), || task(self));
        fork.end.arrive(path.along(fork.region.burden()));
        result.unwrap_or_else(|payload| unwind::resume(payload))
    }
}

/// A fork of a strand: where its second half begins, and where that has ended.
#[derive(Debug)]
pub(crate) struct Fork<'r> {
    region: &'r Arc<Region>,
    at: Path,
    end: Meeting,
    /// Whether the strand itself runs the second half, as it would run a call.
    is_taken_back: AtomicBool,
}

impl Fork<'_> {
    fn second(&self) -> Path {
        self.at.along(self.region.burden())
    }
}
