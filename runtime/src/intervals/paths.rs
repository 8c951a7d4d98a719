//! The longest paths to the points of a metered interval. See `../meter/README.md`.

use std::ptr::NonNull;
use std::sync::Arc;

use super::interval::{At, Side};
use crate::job::Job;
use crate::meter::{Path, Region, Site};
use crate::strand::{self, PointPath};
use crate::worker::Worker;

/// What is metered of an interval.
///
/// What a point waits for comes with its path, before it is counted as having come; who has the point occur knows the longest of them.
#[derive(Debug)]
pub(super) struct Paths {
    /// That of who has made the interval, if it is known.
    region: Arc<Region>,
    /// Where it was made.
    site: Option<Site>,
    start: PointPath,
    end: PointPath,
}

impl Paths {
    fn new(region: &Arc<Region>, site: Option<Site>) -> Self {
        let (start, end) = (PointPath::new(), PointPath::new());
        Self { region: Arc::clone(region), site, start, end }
    }

    /// Those of a root that this worker is about to run, if it is metered. Its start occurs herewith.
    pub(super) fn of_root(worker: &Worker) -> Option<Self> {
        let (region, path) = worker.region().zip(worker.path())?;
        let this = Self::new(region, path.site());
        this.start.arrive(path);
        // SAFETY: nobody else knows of it.
        let _ = unsafe { this.start.occurs() };
        Some(this)
    }

    /// Those of an interval that the calling thread makes inside of this one, whose body runs.
    pub(super) fn of_child(&self, site: Site) -> Self {
        Worker::with_current(|current| {
            let known = current.and_then(|worker| worker.settles_in(&self.region));
            let this = Self::new(known.map_or(&self.region, |(region, _)| region), Some(site));
            match known {
                Some((_, path)) => this.start.arrive(path),
                None => {
                    current.into_iter().for_each(Worker::has_uncarried);
                    self.region.has_uncarried();
                    // It comes after this one's start, in any case.
                    // SAFETY: the body runs, and who makes a child knows that.
                    let start = unsafe { self.start.longest() };
                    start.into_iter().for_each(|&path| this.start.arrive(path));
                }
            }
            this
        })
    }

    pub(super) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    pub(super) fn start(&self) -> &PointPath {
        &self.start
    }

    pub(super) fn end(&self) -> &PointPath {
        &self.end
    }

    pub(super) fn of(&self, side: Side) -> &PointPath {
        match side {
            Side::Start => &self.start,
            Side::End => &self.end,
        }
    }

    /// The word to push or send instead of that of the interval's `job`, so that the body runs as a strand that comes after the start.
    ///
    /// # Safety
    /// As for [`strand::carried_from`]; and the start has occurred.
    pub(super) unsafe fn carried(&self, job: NonNull<Job>, by: Option<&Worker>) -> NonNull<Job> {
        // SAFETY: as the caller promises.
        let start = unsafe { self.start.longest() }.copied().unwrap_or_default();
        let from = start.along(self.region.burden()).at(self.site);
        // SAFETY: as the caller promises.
        unsafe { strand::carried_from(&self.region, from, job, by.map_or(0, Worker::seat_index)) }
    }

    /// The body has ended, on that worker. To be said before the end may learn of it.
    #[cold]
    pub(super) fn body_has_ended(&self, worker: &Worker) {
        match worker.task_ends_in(&self.region) {
            Some(path) => self.end.arrive(path),
            None => {
                // Its path begins elsewhere, or nowhere.
                worker.arrives();
                self.region.has_uncarried();
            }
        }
    }

    /// The body is about to begin on that worker, after what has ended at the end of that path.
    pub(super) fn begins_after(&self, path: &Path, worker: &Worker) {
        if worker.region().is_some_and(|its| its.is_one_with(&self.region)) {
            worker.goes_on_after(path.along(self.region.burden()));
        }
    }
}

/// Where a point has occurred, its path goes on to a target of it.
///
/// # Safety
/// The target is alive, and waits for what comes with this path.
#[cold]
pub(super) unsafe fn goes_on_to(path: &Path, target: At) {
    // SAFETY: as the caller promises.
    let target_paths = unsafe { target.header() }.paths();
    target_paths.into_iter().for_each(|paths| paths.of(target.side).arrive(*path));
}

/// The source of an edge had occurred when it was to be added: the path to it goes to its target.
///
/// # Safety
/// Both are alive. The caller has seen that the source has occurred, and keeps the target from occurring.
#[cold]
pub(super) unsafe fn comes_from(source: At, target: At) {
    // SAFETY: as the caller promises.
    let known = unsafe { source.header() }.paths();
    // SAFETY: as the caller promises.
    let path = known.and_then(|paths| unsafe { paths.of(source.side).longest() });
    // SAFETY: as the caller promises.
    path.into_iter().for_each(|path| unsafe { goes_on_to(path, target) });
}
