//! Jobs of an observed pool: each is wrapped with the stamp of its cause.

use std::ptr::NonNull;

use crate::observe::{Observer, Stamp};
use crate::scheduler::Shared;
use crate::scheduler::Worker;
use crate::scheduler::job::{self, Head, Job, Kind};

/// A job, and the stamp of what made it ready. It shows the role and the group of the job inside.
#[repr(C)]
struct Wrapped {
    head: Head,
    job: NonNull<Job>,
    cause: Stamp,
}

impl Wrapped {
    const KIND: &'static Kind = &Kind::new(Self::execute);
    const OF_A_GROUP: &'static Kind = &Kind::of_a_group(Self::execute);

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        // SAFETY: made by `wrapped` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        let observer = worker.observer().expect("wrapped in an observed pool");
        let slot = worker.slot_index();
        let suspended = observer.begin(slot, this.cause, from != slot);
        // SAFETY: as the caller promises of this one, which stands for it.
        unsafe { job::execute(this.job, worker, from) };
        observer.end(slot, suspended);
    }
}

/// The word to push or send instead of that of `job`.
///
/// # Safety
/// No other thread has seen the job's word; whichever takes the new one runs it, once.
pub(crate) unsafe fn wrapped(job: NonNull<Job>, cause: Stamp) -> NonNull<Job> {
    // SAFETY: as the caller promises, the job has not run.
    let group = unsafe { job::group(job) };
    let head = match group {
        Some(group) => Head::new(Wrapped::OF_A_GROUP, group),
        None => Head::new(Wrapped::KIND, NonNull::dangling()),
    };
    NonNull::from(Box::leak(Box::new(Wrapped { head, job, cause }))).cast()
}

impl Shared {
    /// The word to push or send instead of that of `job`, which `caller` has made ready: in an
    /// observed pool another one.
    ///
    /// # Safety
    /// As for [`wrapped`].
    pub(crate) unsafe fn wrapped(
        &self,
        caller: Option<&Worker>,
        job: NonNull<Job>,
    ) -> NonNull<Job> {
        if self.observer().is_none() {
            return job;
        }
        let cause = caller.and_then(Worker::stamp).unwrap_or_default();
        // SAFETY: as the caller promises.
        unsafe { wrapped(job, cause) }
    }
}

impl Worker {
    /// What observes its pool.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.shared().observer()
    }

    /// The present stamp of its task; `None` if its pool is not observed.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.observer().map(|observer| observer.stamp(self.slot_index()))
    }

    /// Its task also comes after `cause`.
    pub(crate) fn follow(&self, cause: Stamp) {
        if let Some(observer) = self.observer() {
            observer.follow(self.slot_index(), cause);
        }
    }
}

/// The present stamp of the task that the calling thread runs; `None` if its pool is not observed,
/// or if the thread is no worker.
#[must_use]
pub fn stamp() -> Option<Stamp> {
    Worker::with_current(|current| current?.stamp())
}

/// From here on, the task that the calling thread runs also comes after `cause`.
pub fn follow(cause: Stamp) {
    Worker::with_current(|current| {
        if let Some(worker) = current {
            worker.follow(cause);
        }
    });
}
