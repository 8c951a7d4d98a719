//! The longest paths to the points of a metered interval. See `../meter/README.md`.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::interval::{At, Side};
use super::notes::Notes;
use super::root::Core;
use crate::job::{Head, Job, Kind};
use crate::meter::{Path, Region, Site};
use crate::primitive::{AtomicPtr, Ordering};
use crate::strand::{self, Known, PointPath};
use crate::worker::Worker;

/// What is metered of an interval. It lies there as long as the root.
///
/// What a point waits for comes with its path, before it is counted as having come; who has the point occur knows the longest of them.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Paths {
    /// The job that runs the interval's own as a strand, which begins where the start has occurred.
    head: Head,
    /// The interval's own job, when it has been [handed over](Self::carried).
    job: AtomicPtr<Job>,
    /// That of who has made the interval, if it is known.
    region: Arc<Region>,
    /// Where it was made.
    site: Option<Site>,
    start: PointPath,
    end: PointPath,
}

impl Paths {
    const KIND: &'static Kind = &Kind::of_intervals(Self::execute);

    #[inline(always)]
    fn new(core: NonNull<Core<'static>>, region: &Arc<Region>, site: Option<Site>) -> Self {
        let (head, job) = (Head::new(Self::KIND, core.cast()), AtomicPtr::new(ptr::null_mut()));
        let (start, end) = (PointPath::new(), PointPath::new());
        Self { head, job, region: Arc::clone(region), site, start, end }
    }

    /// Those of a root that this worker is about to run, if it is metered. Its start occurs herewith.
    pub(super) fn of_root(worker: &Worker, core: NonNull<Core<'static>>) -> Option<Self> {
        let (region, path) = worker.region().zip(worker.path())?;
        let this = Self::new(core, region, path.site());
        // SAFETY: its start waits for nothing else.
        unsafe { this.start.note(path) };
        Some(this)
    }

    /// Those of an interval that the calling thread makes inside of this one, whose body runs. They are written where they are to lie.
    #[inline(always)]
    pub(super) fn of_child(
        &self,
        core: NonNull<Core<'static>>,
        site: Site,
        placed: impl FnOnce(Self) -> NonNull<Notes>,
    ) -> NonNull<Notes> {
        Worker::with_current(|current| {
            let its =
                current.and_then(|worker| Some((worker, worker.region_one_with(&self.region)?)));
            let region = its.map_or(&self.region, |(_, region)| region);
            let notes = placed(Self::new(core, region, Some(site)));
            // SAFETY: just placed, where they lie as long as the root.
            let paths = unsafe { notes.as_ref() }.paths.as_ref();
            let this = paths.expect("these are theirs");
            match its {
                // SAFETY: its start waits for its maker.
                Some((worker, region)) => unsafe { this.start.note(worker.settles(region)) },
                None => {
                    current.into_iter().for_each(Worker::has_uncarried);
                    self.region.has_uncarried();
                    // It comes after this one's start, in any case.
                    // SAFETY: the body runs, and who makes a child knows that.
                    let start = unsafe { self.start.longest() };
                    // SAFETY: this lies there as long as the root, as what it is for will.
                    start.into_iter().for_each(|path| unsafe { this.start.arrive(path) });
                }
            }
            notes
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
    /// The start has occurred, or is about to. Whoever takes the word that is returned runs it, once, as that of the job, whose root does not end before.
    pub(super) unsafe fn carried(&self, job: NonNull<Job>, by: Option<&Worker>) -> NonNull<Job> {
        self.region.hands_over(by.map_or(0, Worker::seat_index));
        // Relaxed: read by who has got the word.
        self.job.store(job.as_ptr(), Ordering::Relaxed);
        NonNull::from(self).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        let mut path;
        let (job, region) = {
            // SAFETY: the job is the first field of the head, which is that of a `Self`; its root does not end before its own job has run.
            let this = unsafe { job.cast::<Self>().as_ref() };
            // Relaxed: stored before the word was handed over.
            let job = NonNull::new(this.job.load(Ordering::Relaxed)).expect("it was handed over");
            // SAFETY: it has occurred.
            let start = unsafe { this.start.longest() };
            // Kept: with its own job the root may end.
            let region = Arc::clone(&this.region);
            path = start.map_or_else(Path::default, Known::path);
            path.burdened += region.burden();
            path.course.turn_to(this.site);
            (job, region)
        };
        // SAFETY: it was handed over with this one, which was taken by this worker alone.
        unsafe { strand::run_as_strand(job, worker, from, &region, &path) };
    }

    /// The body has ended, on that worker. To be said before the end may learn of it.
    #[cold]
    pub(super) fn body_has_ended(&self, worker: &Worker) {
        match worker.region_one_with(&self.region) {
            // SAFETY: the end waits for one body, which has ended.
            Some(region) => unsafe { self.end.note(worker.task_ends(region)) },
            None => {
                // Its path begins elsewhere, or nowhere.
                worker.arrives();
                self.region.has_uncarried();
            }
        }
    }

    /// The body is about to begin on that worker, after what has ended at the end of that path.
    pub(super) fn begins_after(&self, path: Path, worker: &Worker) {
        if worker.region().is_some_and(|its| its.is_one_with(&self.region)) {
            worker.goes_on_after(&path.along(self.region.burden()));
        }
    }
}

/// Where a point has occurred, its path goes on to a target of it.
///
/// # Safety
/// The target is alive, of the same root, and waits for what comes with this path.
#[cold]
pub(super) unsafe fn goes_on_to(path: Known<'_>, target: At) {
    // SAFETY: as the caller promises.
    let target_paths = unsafe { target.header() }.paths();
    let points = target_paths.into_iter().map(|paths| paths.of(target.side));
    // SAFETY: both are of one root, as long as which all points of it are there.
    points.for_each(|point| unsafe { point.arrive(path) });
}

/// The source of an edge had occurred when it was to be added: the path to it goes to its target.
///
/// # Safety
/// Both are alive, and of one root. The caller has seen that the source has occurred, and keeps the target from occurring.
#[cold]
pub(super) unsafe fn comes_from(source: At, target: At) {
    // SAFETY: as the caller promises.
    let known = unsafe { source.header() }.paths();
    // SAFETY: as the caller promises.
    let path = known.and_then(|paths| unsafe { paths.of(source.side).longest() });
    // SAFETY: as the caller promises.
    path.into_iter().for_each(|path| unsafe { goes_on_to(path, target) });
}
