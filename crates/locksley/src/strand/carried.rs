//! Jobs that carry the path along which they were pushed.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::job::{self, HeapJob, Job, Role, ScopedJob};
use crate::meter::{Path, Region};
use crate::unwind;
use crate::worker::Worker;

/// A job, and where the strand begins as which it runs.
struct Carried {
    job: NonNull<Job>,
    /// The worker that pushed it.
    by: usize,
    region: Arc<Region>,
    from: Path,
}

// SAFETY: a job may be run by any worker; the rest is `Send` anyhow.
unsafe impl Send for Carried {}

impl Carried {
    fn run(self, worker: &Worker) {
        let Self { job, by, region, from } = self;
        // SAFETY: alive until it has run; it was handed to `carried`, alone, and this is run once.
        unsafe { run_as_strand(job, worker, by, &region, &from) };
    }
}

/// Runs a job that was handed over, and counted, as a strand of that region, which begins at the end of that path.
///
/// # Safety
/// As for [`job::execute`].
pub(crate) unsafe fn run_as_strand(
    job: NonNull<Job>,
    worker: &Worker,
    by: usize,
    region: &Arc<Region>,
    from: &Path,
) {
    region.runs_in(worker.shared().address());
    worker.shared().works_for(region);
    let run = || {
        worker.running().is_counted().set(true);
        // SAFETY: as the caller promises.
        let ended = unwind::halt(|| unsafe { job::execute(job, worker, by) });
        // If it has not said so itself.
        worker.is_over(region);
        ended.unwrap_or_else(|payload| unwind::resume(payload));
    };
    let (ended, ()) = worker.as_strand_to(region, from, run, |_| ());
    ended.unwrap_or_else(|payload| unwind::resume(payload));
}

impl Worker {
    /// The word to push instead of that of `job`, which is about to be pushed by the strand that runs here: so that it runs as a strand
    /// which comes after this one.
    ///
    /// # Safety
    /// The job is alive and the caller's alone, and whoever takes the word that is returned runs it, once, before anything that the job
    /// borrows ends.
    pub(crate) unsafe fn carried(&self, job: NonNull<Job>) -> NonNull<Job> {
        let Some(region) = self.region() else { return job };
        // SAFETY: as the caller promises.
        if unsafe { job::role(job) } == Role::Followed {
            return job; // it was told when it was woken
        }
        // What comes before it is known from now on, however long this strand goes on.
        let path = self.settles(region);
        let path = self.running().spawned_at().map_or(path, |site| path.at(Some(site)));
        // SAFETY: as the caller promises.
        unsafe { carried_from(region, path.along(region.burden()), job, self.seat_index()) }
    }
}

/// The same for a job that is about to be handed over, at the end of any path, on behalf of the worker in that seat.
///
/// # Safety
/// As for [`Worker::carried`].
pub(crate) unsafe fn carried_from(
    region: &Arc<Region>,
    from: Path,
    job: NonNull<Job>,
    by: usize,
) -> NonNull<Job> {
    // SAFETY: as the caller promises.
    let role = unsafe { job::role(job) };
    // It says by its own word who it is, and has a path of its own if it is metered.
    if matches!(role, Role::Fork | Role::Followed) {
        return job;
    }
    region.hands_over(by);
    let carried = Carried { job, by, region: Arc::clone(region), from };
    match role {
        Role::Scoped | Role::Interval => {
            // SAFETY: as the caller promises.
            let scope = unsafe { job::scope(job) }.expect("it has that role");
            let run = move |worker: &Worker, _: NonNull<()>| carried.run(worker);
            if role == Role::Scoped {
                // SAFETY: as the caller promises.
                unsafe { ScopedJob::into_job(scope, run) }
            } else {
                // SAFETY: as the caller promises.
                unsafe { ScopedJob::into_job_of_interval(scope, run) }
            }
        }
        // SAFETY: as the caller promises.
        Role::Fork | Role::Followed | Role::Other => unsafe {
            HeapJob::into_job(move |worker| carried.run(worker))
        },
    }
}
