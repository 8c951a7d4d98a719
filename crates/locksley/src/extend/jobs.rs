//! Jobs of libraries: tasks in memory that the library owns.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::fork::Spawn;
#[cfg(doc)]
use crate::header::GroupHeader;
use crate::header::Job;
use crate::job::latch::Latch;
use crate::numbers::{Index, Place};
use crate::shared::Shared;
use crate::worker::Worker;

/// The pool that runs a library's jobs. A clone is the same pool.
#[derive(Clone, Debug)]
pub struct Home(Arc<Shared>);

impl Home {
    /// The pool of a worker.
    #[must_use]
    pub fn of(worker: &Worker) -> Self {
        Self(Arc::clone(worker.shared()))
    }

    /// True if the worker belongs to this pool.
    #[must_use]
    #[inline]
    pub fn is_of(&self, worker: &Worker) -> bool {
        worker.belongs_to(&self.0)
    }

    /// Panics if the pool has no such place.
    #[track_caller]
    pub fn assert_has_place(&self, place: usize) {
        self.0.assert_has_place(place);
    }

    /// Sends a job to the pool from any thread: to the workers of `place` first, if one is named.
    ///
    /// # Safety
    /// The job is alive until it has run, and is sent or [pushed](push) once for each run.
    pub unsafe fn send(&self, place: Option<usize>, job: NonNull<Job>) {
        self.0.send_with(None, place.map(Spawn::Near), job);
    }
}

/// Makes a job available by a worker, which the calling thread is: to the workers of `place` first,
/// if one is named, and otherwise in the worker's own deque.
///
/// # Safety
/// As for [`Home::send`].
#[inline]
pub unsafe fn push(worker: &Worker, place: Option<usize>, job: NonNull<Job>) {
    match place {
        None => worker.push(job),
        Some(place) => worker.shared().send_near(Some(worker), Place::new(place), job),
    }
}

/// Makes a job available that uses the data of a task which ran on the worker with index `last`:
/// to that worker first. An idle worker takes the job if that worker has other work.
///
/// # Safety
/// As for [`Home::send`].
#[inline]
pub unsafe fn push_to_last(worker: &Worker, last: usize, job: NonNull<Job>) {
    worker.push_or_send_to(Index::new(last), job);
}

/// The end of a group of jobs, for which one worker waits.
#[derive(Debug)]
pub struct GroupEnd<'w> {
    latch: Latch<'w>,
    /// Jobs of the group in the waiter's deque lie at or above this index.
    start: i64,
}

impl<'w> GroupEnd<'w> {
    /// Makes the end of a group, before its first job is pushed.
    #[must_use]
    pub fn awaited_by(waiter: &'w Worker) -> Self {
        Self { latch: Latch::new(Some(waiter)), start: waiter.local.deque.bottom() }
    }

    /// Records that all jobs of the group have ended, and wakes the waiter.
    ///
    /// # Safety
    /// This is alive when the call begins. The waiter may free it before the call returns.
    pub unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive, as the caller promises.
        let latch = NonNull::from(&unsafe { this.as_ref() }.latch);
        // SAFETY: alive until it is set.
        unsafe { Latch::end(latch, None) };
    }

    /// Waits for the end. Meanwhile the waiter, for which this was made, runs jobs with a
    /// [header](GroupHeader) that names the group.
    pub fn wait(&self, waiter: &Worker, group: NonNull<()>) {
        waiter.wait_for_group(&self.latch.flag, group, self.start, || false);
    }
}
