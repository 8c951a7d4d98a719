//! The slow path of observed pools: each job is wrapped with the stamp of its cause.

use std::ptr::NonNull;

use super::Worker;
use crate::header::{self, GroupHeader, Job, Kind, WorkerRef};
use crate::observe::{Observer, Stamp};
use crate::shared::Shared;

/// A job with the stamp of what made it ready. It has the group of the job inside.
#[repr(C)]
struct Wrapped {
    header: GroupHeader,
    job: NonNull<Job>,
    cause: Stamp,
}

impl Wrapped {
    const KIND: &'static Kind = &Kind::of_group(Self::execute);

    unsafe fn execute(job: NonNull<Job>, worker: WorkerRef<'_>, from: usize) {
        let worker = worker.worker();
        // SAFETY: made by `wrap` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        let observer = worker.observer().expect("wrapped in an observed pool");
        let slot = worker.slot().get();
        let suspended = observer.begin(slot, this.cause, from != slot);
        // SAFETY: as the caller promises of the wrapped job.
        unsafe { header::execute(this.job, worker.as_ref(), from) };
        observer.end(slot, suspended);
    }
}

impl Shared {
    /// In an observed pool, wraps `job`, which `current` has made ready. Returns the word to push
    /// or send.
    ///
    /// # Safety
    /// No other thread has seen the word of the job. The thread that takes the new word runs it,
    /// once.
    pub(crate) unsafe fn wrap(&self, current: Option<&Worker>, job: NonNull<Job>) -> NonNull<Job> {
        if self.observer().is_none() {
            return job;
        }
        let cause = current.and_then(Worker::stamp).unwrap_or_default();
        // SAFETY: as the caller promises, the job has not run.
        let group = unsafe { header::group(job) };
        let header = GroupHeader::of(Wrapped::KIND, group);
        NonNull::from(Box::leak(Box::new(Wrapped { header, job, cause }))).cast()
    }
}

impl Worker {
    /// The observer of the worker's pool.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.shared().observer()
    }

    /// The present stamp of the task that the worker runs; `None` if its pool is not observed.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.observer().map(|observer| observer.stamp(self.slot().get()))
    }
}

/// The present stamp of the task that the calling thread runs. `None` if its pool is not observed,
/// or if the thread is not a worker.
#[must_use]
pub fn stamp() -> Option<Stamp> {
    Worker::with_current(|current| current?.stamp())
}

/// Records that, from here on, the task which the calling thread runs also follows `cause`.
pub fn follow(cause: Stamp) {
    Worker::with_current(|current| {
        let Some(worker) = current else { return };
        if let Some(observer) = worker.observer() {
            observer.follow(worker.slot().get(), cause);
        }
    });
}
