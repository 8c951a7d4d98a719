//! The kinds of jobs, and how they announce their ends. `crate::header` has what they begin with.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the second half of a join; jobs in frames and on the heap |
//! | `latch.rs` | how a task announces, once, that it has ended |
//! | `detached.rs` | detached tasks, and how the pool closes after the last of them |

mod detached;
pub(crate) mod latch;

use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::header::{GroupHeader, Job, Kind, WorkerRef};
use crate::numbers::Slot;
use crate::trace::Event;
use crate::unwind::{self, Payload};
use crate::worker::Worker;
use latch::Latch;

/// The second half of a join, in the frame of its creator. Its header is also its latch. A worker
/// that takes the word and runs the job sets the latch, even if that worker is the creator. If it
/// is a thief, it also wakes the creator. A fork that its join takes back does not touch the latch.
#[repr(C)]
pub(crate) struct ForkJob<F, R> {
    header: Job,
    body: UnsafeCell<Body<F, R>>,
}

union Body<F, R> {
    task: ManuallyDrop<F>,
    result: ManuallyDrop<Result<R, Payload>>,
}

impl<F, R> ForkJob<F, R>
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    const KIND: &'static Kind = &Kind::of_fork(Self::execute);

    #[inline]
    pub(crate) fn new(task: F) -> Self {
        let body = UnsafeCell::new(Body { task: ManuallyDrop::new(task) });
        Self { header: Job::of(Self::KIND), body }
    }

    /// The word that the creator pushes to its own deque. The creator leaves the frame only after
    /// the [latch](Self::header) is set, or after it has taken the word back.
    #[inline]
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// False if the job has run: then its index in the deque may belong to a newer job. If the
    /// creator itself has run the job, this is always false. If a thief has taken the job, this may
    /// be true, and the deque tells that the job is gone.
    #[inline]
    pub(crate) fn can_be_in_deque(&self) -> bool {
        self.header.latch().is_unset_relaxed()
    }

    /// The header, which is also the latch that is set when the job has run.
    #[inline]
    pub(crate) fn header(&self) -> &Job {
        &self.header
    }

    /// Takes the task, so that the creator runs it.
    ///
    /// # Safety
    /// The creator has taken the word back, and calls this once.
    #[inline]
    pub(crate) unsafe fn take_back(&self) -> F {
        // SAFETY: no other thread has the word, so none touches the body.
        let body = unsafe { &mut *self.body.get() };
        // SAFETY: the job was not run, so this is a task; it is taken once.
        unsafe { ManuallyDrop::take(&mut body.task) }
    }

    /// What the task returned, or its panic.
    ///
    /// # Safety
    /// The caller has seen that the [latch](Self::header) is set. This is called once.
    pub(crate) unsafe fn take_result(&self) -> Result<R, Payload> {
        // SAFETY: the thread that ran the job has published the result, and does not touch it any
        // more.
        let body = unsafe { &mut *self.body.get() };
        // SAFETY: the job was run, so this is a result; it is taken once.
        unsafe { ManuallyDrop::take(&mut body.result) }
    }

    unsafe fn execute(job: NonNull<Job>, worker: WorkerRef<'_>, from: usize) {
        let worker = worker.worker();
        let creator = Slot::new(from);
        {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive
            // until the latch is set.
            let this = unsafe { job.cast::<Self>().as_ref() };
            if creator != worker.slot() {
                // From now on the creator may steal back what this forks.
                this.header.mark_stolen(worker.slot(), worker.deque_end());
            }
            // SAFETY: only this worker has taken the word.
            let task = unsafe { this.take_back() };
            let result = ManuallyDrop::new(unwind::catch(|| task(worker)));
            // SAFETY: as above; the creator reads it only after the latch is set.
            unsafe { *this.body.get() = Body { result } };
            if creator != worker.slot() {
                worker.shared().trace(|| Event::Signals(creator.get()));
            }
            this.header.latch().set();
        }
        // The frame may be gone. The pool is alive: this is one of its workers.
        if creator != worker.slot() {
            worker.shared().sleep.parker(creator).unpark();
        }
    }
}

/// A job in the frame of its creator, which waits for the latch before it leaves the frame.
#[repr(C)]
pub(crate) struct StackJob<'l, F, R> {
    header: GroupHeader,
    latch: &'l Latch<'l>,
    task: Cell<Option<F>>,
    result: Cell<Option<Result<R, Payload>>>,
}

impl<'l, F, R> StackJob<'l, F, R>
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    const KIND: &'static Kind = &Kind::of_group(Self::execute);

    /// A job that the latch counts.
    pub(crate) fn new(task: F, latch: &'l Latch<'l>) -> Self {
        let (task, result) = (Cell::new(Some(task)), Cell::new(None));
        Self { header: GroupHeader::of(Self::KIND, None), latch, task, result }
    }

    /// The word to send. The creator does not leave the job's frame before the latch is set.
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// What the task returned, or its panic.
    ///
    /// # Safety
    /// The caller has seen that the latch is set.
    pub(crate) unsafe fn take_result(&self) -> Result<R, Payload> {
        // The thread that ran the job has published the result, and does not touch it any more.
        self.result.take().expect("the latch is set after the result is stored")
    }

    unsafe fn execute(job: NonNull<Job>, worker: WorkerRef<'_>, _from: usize) {
        let worker = worker.worker();
        let latch = {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive
            // until the latch is set.
            let this = unsafe { job.cast::<Self>().as_ref() };
            // Only this worker has taken the word, and the creator waits for the latch.
            let task = this.task.take().expect("a job is run once");
            this.result.set(Some(unwind::catch(|| task(worker))));
            NonNull::from(this.latch)
        };
        // SAFETY: alive until all jobs that it counts have ended, of which this is one.
        unsafe { Latch::end(latch, Some(worker)) };
    }
}

/// A job on the heap, freed when it is run. The task catches its own panics.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct HeapJob<F> {
    header: GroupHeader,
    task: F,
}

impl<F> HeapJob<F>
where
    F: FnOnce(&Worker) + Send,
{
    const KIND: &'static Kind = &Kind::of_group(Self::execute);

    /// The word to push or send. `group` is an address that no other group has until the job has
    /// run.
    ///
    /// # Safety
    /// The job is run once, before anything that `F` borrows ends. `F` does not unwind.
    pub(crate) unsafe fn into_job(group: Option<NonNull<()>>, task: F) -> NonNull<Job> {
        let header = GroupHeader::of(Self::KIND, group);
        NonNull::from(Box::leak(Box::new(Self { header, task }))).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: WorkerRef<'_>, _from: usize) {
        let worker = worker.worker();
        // SAFETY: made by `into_job` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.task)(worker);
    }
}
