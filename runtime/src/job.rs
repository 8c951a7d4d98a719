//! Jobs: what deques and inboxes hold. A job is one word that points to a header that knows how to run it.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use crate::latch::Latch;
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// The first field of every job: how to run what follows it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Job {
    execute: unsafe fn(NonNull<Job>, &Worker),
}

/// Runs a job.
///
/// # Safety
/// The job is alive, was taken from a deque or an inbox by the caller alone, and is run once.
#[inline]
pub(crate) unsafe fn execute(job: NonNull<Job>, worker: &Worker) {
    // SAFETY: alive, as the caller promises.
    let execute = unsafe { job.as_ref() }.execute;
    // SAFETY: as the caller promises; and the header was put there by the type that `execute` belongs to.
    unsafe { execute(job, worker) }
}

/// A job in its creator's frame, who waits for its latch before leaving it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct StackJob<F, R, L> {
    header: Job,
    latch: L,
    task: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

impl<F, R, L> StackJob<F, R, L>
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
    L: Latch,
{
    pub(crate) fn new(task: F, latch: L) -> Self {
        Self {
            header: Job { execute: Self::execute },
            latch,
            task: UnsafeCell::new(Some(task)),
            result: UnsafeCell::new(None),
        }
    }

    pub(crate) fn latch(&self) -> &L {
        &self.latch
    }

    /// The word to push or send. Whoever sends it does not leave the job's frame before the latch is set, or before
    /// the word has come back.
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// The task, for the creator to run itself.
    ///
    /// # Safety
    /// The job was not sent, or its word has come back to the creator unexecuted.
    #[inline]
    pub(crate) unsafe fn take_back(&self) -> F {
        // SAFETY: nobody else has the word, so nobody else touches the task.
        let task = unsafe { &mut *self.task.get() };
        task.take().expect("a job is run once")
    }

    /// What the task returned, or its panic.
    ///
    /// # Safety
    /// The latch has been set, and seen to be.
    pub(crate) unsafe fn take_result(&self) -> Result<R, Payload> {
        // SAFETY: whoever ran the job has published, and does not touch it any more.
        let result = unsafe { &mut *self.result.get() };
        result.take().expect("the latch is set after the result is stored")
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker) {
        let this: NonNull<Self> = job.cast();
        {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive until the latch is set.
            let this = unsafe { this.as_ref() };
            // SAFETY: the word was taken by this worker alone.
            let task = unsafe { &mut *this.task.get() }.take().expect("a job is run once");
            let result = unwind::halt(|| task(worker));
            // SAFETY: as above; the creator reads it only after the latch is set.
            *unsafe { &mut *this.result.get() } = Some(result);
        }
        // SAFETY: a pointer to a field of what is alive.
        let latch = unsafe { &raw const (*this.as_ptr()).latch };
        let latch = NonNull::new(latch.cast_mut()).expect("a field of what is alive");
        // SAFETY: alive until it is set.
        unsafe { L::set(latch) };
    }
}

/// A job of its own, freed when it has run. What it does with panics is up to the task.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct HeapJob<F> {
    header: Job,
    task: F,
}

impl<F> HeapJob<F>
where
    F: FnOnce(&Worker) + Send,
{
    /// The word to push or send.
    ///
    /// # Safety
    /// The job is run once, before what `F` borrows ends. `F` does not unwind.
    pub(crate) unsafe fn into_job(task: F) -> NonNull<Job> {
        let header = Job { execute: Self::execute };
        NonNull::from(Box::leak(Box::new(Self { header, task }))).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker) {
        // SAFETY: made by `into_job` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.task)(worker);
    }
}
