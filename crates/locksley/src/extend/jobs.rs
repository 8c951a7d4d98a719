//! Jobs of libraries: tasks in memory that the library owns.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::observe::Stamp;
use crate::scheduler::latch::Latch;
use crate::scheduler::{Shared, Worker};

pub use crate::scheduler::job::{Head, Job, Kind};

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

    /// Whether jobs for which no place is named go to the pool's places in turn.
    #[must_use]
    pub fn spreads_unplaced(&self) -> bool {
        self.0.spreads_unplaced()
    }

    /// The place of the next such job; `None` if the worker that makes it ready keeps it.
    #[must_use]
    pub fn next_place(&self) -> Option<usize> {
        self.0.next_place()
    }

    /// Sends a job to the pool, from any thread.
    ///
    /// # Safety
    /// The job is alive until it has run, and is sent or pushed once for each run.
    pub unsafe fn send(&self, job: NonNull<Job>) {
        self.0.send(None, job);
    }

    /// Sends a job to the workers of a place, from any thread.
    ///
    /// # Safety
    /// As for [`send`](Self::send).
    pub unsafe fn send_near(&self, place: usize, job: NonNull<Job>) {
        self.0.send_near(None, place, job);
    }
}

/// The methods of [`Worker`] for libraries. No other type implements it.
pub trait WorkerExt: sealed::Sealed {
    /// The worker's slot, less than [`MAX_SLOTS`](super::MAX_SLOTS). Unique to this thread in its
    /// pool.
    fn slot(&self) -> usize;

    /// The present stamp of the running task; `None` if the pool is not observed.
    fn stamp(&self) -> Option<Stamp>;

    /// Records that the running task also comes after `cause`.
    fn follow(&self, cause: Stamp);

    /// Makes a job available to all workers.
    ///
    /// # Safety
    /// As for [`Home::send`].
    unsafe fn push(&self, job: NonNull<Job>);

    /// Makes a job available, with preference for the workers of a place.
    ///
    /// # Safety
    /// As for [`Home::send`].
    unsafe fn push_near(&self, place: usize, job: NonNull<Job>);

    /// Makes a job available that continues work of the worker with index `home`.
    ///
    /// # Safety
    /// As for [`Home::send`].
    unsafe fn push_at_home(&self, home: usize, job: NonNull<Job>);
}

impl WorkerExt for Worker {
    #[inline]
    fn slot(&self) -> usize {
        Worker::slot_index(self)
    }

    #[inline]
    fn stamp(&self) -> Option<Stamp> {
        Worker::stamp(self)
    }

    #[inline]
    fn follow(&self, cause: Stamp) {
        Worker::follow(self, cause);
    }

    #[inline]
    unsafe fn push(&self, job: NonNull<Job>) {
        Worker::push(self, job);
    }

    unsafe fn push_near(&self, place: usize, job: NonNull<Job>) {
        self.shared().send_near(Some(self), place, job);
    }

    unsafe fn push_at_home(&self, home: usize, job: NonNull<Job>) {
        Worker::push_at_home(self, home, job);
    }
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
        Self { latch: Latch::new(Some(waiter), None), start: waiter.deque.bottom() }
    }

    /// Records that all jobs of the group have ended, and wakes the waiter.
    ///
    /// # Safety
    /// This is alive when the call begins. The waiter may free it before the call returns.
    pub unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive, as the caller promises.
        let latch = NonNull::from(&unsafe { this.as_ref() }.latch);
        // SAFETY: alive until it is set.
        unsafe { Latch::set(latch) };
    }

    /// Waits for the end. Meanwhile the waiter, for which this was made, runs jobs with a
    /// [head](Head) that names the group.
    pub fn wait(&self, waiter: &Worker, group: NonNull<()>) {
        self.latch.wait_with(|event| waiter.wait_for_group(event, group, || self.start));
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Worker {}
}
