//! Jobs of libraries: tasks that lie in the library's own memory.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::observe::Stamp;
use crate::scheduler::latch::{Latch, WorkerLatch};
use crate::scheduler::{Shared, Worker};

pub use crate::scheduler::job::{Head, Job, Kind};

/// The pool that runs a library's jobs. A clone is the same pool.
#[derive(Clone, Debug)]
pub struct Home(Arc<Shared>);

impl Home {
    /// That of a worker.
    #[must_use]
    pub fn of(worker: &Worker) -> Self {
        Self(Arc::clone(worker.shared()))
    }

    /// Whether the worker belongs to this pool.
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
    pub fn goes_round(&self) -> bool {
        self.0.goes_round()
    }

    /// The place of the next such job; `None` if the worker that makes it ready keeps it.
    #[must_use]
    pub fn next_place(&self) -> Option<usize> {
        self.0.next_place()
    }

    /// Hands a job to the pool from outside.
    ///
    /// # Safety
    /// The job is alive until it has run, and is handed to a pool or pushed once for each run.
    pub unsafe fn send(&self, job: NonNull<Job>) {
        self.0.send(job);
    }

    /// Hands a job to the workers of a place, from outside.
    ///
    /// # Safety
    /// As for [`send`](Self::send).
    pub unsafe fn send_near(&self, place: usize, job: NonNull<Job>) {
        self.0.send_near(place, job);
    }
}

/// What a library needs of the worker that runs it.
///
/// Implemented for [`Worker`] alone.
pub trait WorkerExt: sealed::Sealed {
    /// The number of its slot, less than [`MAX_SLOTS`](super::MAX_SLOTS). Only this thread has it.
    fn slot(&self) -> usize;

    /// The present stamp of its task; `None` if its pool is not observed.
    fn stamp(&self) -> Option<Stamp>;

    /// Its task also comes after `cause`.
    fn follow(&self, cause: Stamp);

    /// Makes a job available to all workers.
    ///
    /// # Safety
    /// As for [`Home::send`].
    unsafe fn push(&self, job: NonNull<Job>);

    /// Makes a job available, first of all to the workers of a place.
    ///
    /// # Safety
    /// As for [`Home::send`].
    unsafe fn push_near(&self, place: usize, job: NonNull<Job>);

    /// Makes a job available that comes after what the worker with that index has done.
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
        Worker::push_near(self, place, job);
    }

    unsafe fn push_at_home(&self, home: usize, job: NonNull<Job>) {
        Worker::push_at_home(self, home, job);
    }
}

/// The end of a group of jobs, for which a worker waits.
#[derive(Debug)]
pub struct GroupEnd<'w> {
    latch: WorkerLatch<'w>,
    /// Jobs of the group that the waiter has pushed itself lie above this in its deque.
    start: i64,
}

impl<'w> GroupEnd<'w> {
    /// That of a group whose first job is not pushed yet.
    #[must_use]
    pub fn awaited_by(waiter: &'w Worker) -> Self {
        Self { latch: WorkerLatch::set_from_abroad(waiter), start: waiter.deque_end() }
    }

    /// Says that all jobs of the group have ended.
    ///
    /// # Safety
    /// This is alive when the call begins. The waiter may free it as soon as it learns of the end.
    pub unsafe fn set(this: NonNull<Self>) {
        // SAFETY: a pointer to a field of what is alive.
        let latch = unsafe { &raw mut (*this.as_ptr()).latch };
        // SAFETY: not null, since it points to a field.
        let latch = unsafe { NonNull::new_unchecked(latch) };
        // SAFETY: alive until it is set.
        unsafe { WorkerLatch::set(latch) };
    }

    /// The worker for which this was made waits for the end, and runs jobs whose [head](Head) names
    /// the group meanwhile.
    pub fn wait(&self, waiter: &Worker, group: NonNull<()>) {
        waiter.wait_for_group(self.latch.flag(), group, || self.start);
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Worker {}
}
