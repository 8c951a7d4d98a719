//! Joins of strands: the first half runs on, and the second carries the path of the fork to whoever takes it.
//!
//! The job in the join's frame is the same as of any join. But it is given another kind, which lies in the same frame, and has whoever
//! takes the job run it as a strand of its own. So all but a little of a metered join (`join_metered`) does not depend on what is joined.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::Aside;
use crate::fork::Waiting;
use crate::job::{self, Job, Kind};
use crate::latch::Flag;
use crate::meter::{Course, Length, Meeting, Part, Path, Region, Rest, Site, Version};
use crate::worker::Worker;

/// What a join knows of its fork, in its frame.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Half<'r> {
    /// Instead of the job's own. The first field: who has the job finds the rest by it.
    kind: Kind,
    own: &'static Kind,
    region: &'r Arc<Region>,
    /// The place where the strand goes on after the join.
    outer: Option<Site>,
    /// Where the second half begins.
    from: Path,
    /// What the course of that path is elsewhere, as the worker knows it that has forked.
    version: Version,
    /// The path to the end of the first one. That worker's.
    first: Cell<Length>,
    /// What its course is elsewhere, if that is not what it was at the fork. That worker's.
    first_elsewhere: Cell<Option<Rest>>,
    /// Where whoever has taken the second one leaves the path to its end.
    end: Meeting,
}

impl<'r> Half<'r> {
    /// For a fork of the strand that `worker` runs, at that place, or at the strand's own. `own` is the kind of its job.
    // So that it is there once, and not in each join.
    #[inline(never)]
    pub(crate) fn new(worker: &'r Worker, own: &'static Kind, site: Option<Site>) -> Self {
        let running = worker.running();
        running.has_forked();
        let now = running.now();
        let outer = running.site();
        if site.is_some() {
            running.turns_to(site, now);
        }
        Self {
            kind: Kind::of_forks(execute),
            own,
            region: worker.region().expect("it runs a strand"),
            outer,
            from: running.path(now).along(running.burden()),
            version: running.version(),
            first: Cell::new(Length::default()),
            first_elsewhere: Cell::new(None),
            end: Meeting::new(),
        }
    }

    /// To the end of the first half.
    fn first_path(&self) -> Path {
        let Length { span, burdened, here } = self.first.get();
        let elsewhere = self.first_elsewhere.get().unwrap_or(*self.from.course.before());
        let here = Part { site: self.from.site(), ticks: here };
        Path { span, burdened, course: Course::of(here, elsewhere) }
    }

    /// What the job of the second half is to have for its kind: by that, the rest is found, too.
    #[inline]
    pub(crate) fn as_kind(&self) -> *const Kind {
        ptr::from_ref(self).cast()
    }
}

/// Runs a second half that somebody has taken, as a strand.
unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
    // SAFETY: as the caller promises.
    let kind = unsafe { job::kind(job) };
    // SAFETY: the kind is that of a `Half`, whose first field it is, and which is alive as long as the job: until that says that it has
    // ended. Who forked touches nothing of it meanwhile but what is its own.
    let half = unsafe { &*kind.cast::<Half<'_>>() };
    let own = half.own;
    worker.while_aside(|| {
        worker.begins_strand(half.region, half, half.from);
        // SAFETY: as the caller promises; it is the job's own kind. The strand is ended by it, before it says so.
        unsafe { own.execute(job, worker, from) };
    });
}

/// A join, as it goes on after its fork: with a half if it is metered.
pub(crate) type Halves<'h> = Option<&'h Half<'h>>;

impl Worker {
    /// The second half of a join has ended, which this worker has taken. To be said before its worker may learn of it; its frame may be
    /// gone then.
    #[inline]
    pub(crate) fn second_half_ends(&self) {
        if self.is_metered() {
            self.taken_half_ends();
        }
    }

    #[cold]
    fn taken_half_ends(&self) {
        let half: *const Half<'_> = self.running().half().cast();
        // SAFETY: null, or alive, as its job has not said that it has ended.
        if let Some(half) = unsafe { half.as_ref() } {
            let path = self.ends_strand(half.region);
            half.end.arrive(path.along(half.region.burden()));
        }
    }

    /// The first half has ended, and the second is about to begin here, if nobody has taken it.
    pub(crate) fn turns_to_second(&self, half: &Half<'_>) {
        let running = self.running();
        let now = running.now();
        // It is there, unless a panic has kept it from coming back from where it was called.
        running.turns_to(half.from.site(), now);
        half.first.set(running.length(now));
        // Most halves have not been anywhere else.
        if running.version() != half.version {
            half.first_elsewhere.set(Some(running.elsewhere()));
            running.goes_elsewhere(half.from.course.before(), Some(half.version));
        }
        running.goes_to_length(&Length::of(&half.from), now);
    }

    /// This worker has run both halves itself, and the strand goes on after the later one.
    pub(crate) fn joins_halves(&self, half: &Half<'_>) {
        let running = self.running();
        let now = running.now();
        running.turns_to(half.from.site(), now);
        let (first, mut second) = (half.first.get(), running.length(now));
        second.burdened += running.burden();
        let burdened = first.burdened.max(second.burdened);
        if second.span > first.span {
            running.goes_to_length(&Length { burdened, ..second }, now);
        } else {
            running.goes_to_length(&Length { burdened, ..first }, now);
            match half.first_elsewhere.get() {
                Some(elsewhere) => running.goes_elsewhere(&elsewhere, None),
                None if running.version() != half.version => {
                    running.goes_elsewhere(half.from.course.before(), Some(half.version));
                }
                None => {}
            }
        }
        running.turns_to(half.outer, now);
    }

    /// Waits for the second half, which others may have, or gets it back. Says whether it did that.
    #[cold]
    #[inline(never)]
    pub(crate) fn waits_for_half(
        &self,
        half: &Half<'_>,
        recover: (NonNull<Job>, &Flag),
        how: (i64, Option<Waiting>),
    ) -> bool {
        let aside = self.put_aside().expect("a half is one of a strand");
        let is_back = self.recover_as(recover, how);
        let first = half.first_path();
        let met = || half.end.latest().map_or(first, |second| first.meet(second)).at(half.outer);
        self.take_up(Aside { path: if is_back { half.from } else { met() }, ..aside });
        is_back
    }
}
