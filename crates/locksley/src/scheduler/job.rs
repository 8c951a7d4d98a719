//! Jobs: tasks in memory, in a frame or on the heap. A job begins with its header, a [`Job`]. Its
//! *word*, a `NonNull<Job>`, is the address of the header. Deques and inboxes hold words.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::deque::Inbox;
use crate::scheduler::Worker;
use crate::scheduler::latch::{CountLatch, Flag};
use crate::trace::Event;
use crate::unwind::{self, Payload};

/// The header: the first field of every job, which tells how to run the job. In a `ForkJob` it is
/// also the latch.
#[derive(Debug)]
#[repr(C)]
pub struct Job(Flag);

/// Runs a job on a worker. The last argument is `from`, as for [`execute`].
type Execute = unsafe fn(NonNull<Job>, &Worker, usize);

/// How to run one kind of jobs. A header holds the address of its kind, and not that of the
/// function: a kind is aligned, so that its address differs from `Flag::SET`.
#[derive(Debug)]
pub struct Kind {
    execute: Execute,
    /// True for the second half of a join. All other jobs begin with a [`GroupHeader`].
    is_fork: bool,
}

const _: () = assert!(align_of::<Kind>() > 1);

impl Kind {
    /// A kind of jobs that begin with a [`GroupHeader`].
    #[must_use]
    pub const fn of_group(execute: unsafe fn(NonNull<Job>, &Worker, usize)) -> Self {
        Self { execute, is_fork: false }
    }
}

impl Job {
    #[inline]
    pub(crate) fn of(kind: &'static Kind) -> Self {
        Self(Flag::with_pointer(std::ptr::from_ref(kind).cast_mut().cast()))
    }
}

/// Runs a job.
///
/// # Safety
/// The job is alive, only the caller has taken its word from a queue, and it is run once. If it is
/// a fork, `from` is the slot of the worker that pushed it. For other jobs, `from` only tells
/// observers where they come from.
#[inline]
pub(crate) unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
    // SAFETY: as the caller promises.
    let kind = unsafe { kind(job) };
    // SAFETY: `Job::of` has put it there, and the job has not run.
    let execute = unsafe { (*kind).execute };
    // SAFETY: as the caller promises; the type that `execute` belongs to has made the header.
    unsafe { execute(job, worker, from) }
}

/// True if the job is the second half of a join.
///
/// # Safety
/// The job is alive, only the caller has taken it from its queue, and it has not run.
pub(crate) unsafe fn is_fork(job: NonNull<Job>) -> bool {
    // SAFETY: as the caller promises.
    let kind = unsafe { kind(job) };
    // SAFETY: as in `execute`.
    unsafe { (*kind).is_fork }
}

/// The group of a job. `None` for the second half of a join.
///
/// # Safety
/// As for [`is_fork`].
pub(crate) unsafe fn group(job: NonNull<Job>) -> Option<NonNull<()>> {
    // SAFETY: as the caller promises.
    let is_fork = unsafe { is_fork(job) };
    // SAFETY: alive; and any other job begins with a group header.
    (!is_fork).then(|| unsafe { job.cast::<GroupHeader>().as_ref() }.group)
}

/// The kind of a job: the pointer in its header.
///
/// # Safety
/// As for [`is_fork`].
#[inline]
unsafe fn kind(job: NonNull<Job>) -> *const Kind {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { job.as_ref() };
    // SAFETY: only the thread that has taken the job's word may set the flag, and that is this one.
    unsafe { header.0.pointer() }.cast()
}

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
    const KIND: &'static Kind = &Kind { execute: Self::execute, is_fork: true };

    #[inline]
    pub(crate) fn new(task: F) -> Self {
        let body = UnsafeCell::new(Body { task: ManuallyDrop::new(task) });
        Self { header: Job::of(Self::KIND), body }
    }

    /// The word that the creator pushes to its own deque. The creator leaves the frame only after
    /// the [latch](Self::latch) is set, or after it has taken the word back.
    #[inline]
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// False if the job has run: then its index in the deque may belong to a newer job. If the
    /// creator itself has run the job, this is always false. If a thief has taken the job, this may
    /// be true, and the deque tells that the job is gone.
    #[inline]
    pub(crate) fn can_be_in_deque(&self) -> bool {
        self.header.0.is_unset_relaxed()
    }

    /// Set when the job has run.
    #[inline]
    pub(crate) fn latch(&self) -> &Flag {
        &self.header.0
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
    /// The caller has seen that the [latch](Self::latch) is set. This is called once.
    pub(crate) unsafe fn take_result(&self) -> Result<R, Payload> {
        // SAFETY: the thread that ran the job has published the result, and does not touch it any
        // more.
        let body = unsafe { &mut *self.body.get() };
        // SAFETY: the job was run, so this is a result; it is taken once.
        unsafe { ManuallyDrop::take(&mut body.result) }
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive
            // until the latch is set.
            let this = unsafe { job.cast::<Self>().as_ref() };
            if from != worker.slot_index() {
                worker.begin_stolen(job);
            }
            // SAFETY: only this worker has taken the word.
            let task = unsafe { this.take_back() };
            let result = ManuallyDrop::new(unwind::catch(|| task(worker)));
            // SAFETY: as above; the creator reads it only after the latch is set.
            unsafe { *this.body.get() = Body { result } };
            // Before the latch is set: after that, another job may get this address.
            worker.slot().set_running(std::ptr::null_mut());
            if from != worker.slot_index() {
                worker.shared().trace(|| Event::Signals(from));
            }
            this.latch().set();
        }
        // The frame may be gone. The pool is alive: this is one of its workers.
        if from != worker.slot_index() {
            worker.shared().slot(from).parker.unpark(|| ());
        }
    }
}

/// A job in the frame of its creator, which waits for the latch before it leaves the frame.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct StackJob<'l, F, R> {
    header: GroupHeader,
    latch: &'l CountLatch<'l>,
    task: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

impl<'l, F, R> StackJob<'l, F, R>
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    const KIND: &'static Kind = &Kind::of_group(Self::execute);

    /// A job that the latch counts.
    pub(crate) fn new(task: F, latch: &'l CountLatch<'l>) -> Self {
        let (task, result) = (UnsafeCell::new(Some(task)), UnsafeCell::new(None));
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
        // SAFETY: the thread that ran the job has published the result, and does not touch it any
        // more.
        let result = unsafe { &mut *self.result.get() };
        result.take().expect("the latch is set after the result is stored")
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, _from: usize) {
        let latch = {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive
            // until the latch is set.
            let this = unsafe { job.cast::<Self>().as_ref() };
            // SAFETY: only this worker has taken the word.
            let task = unsafe { &mut *this.task.get() }.take().expect("a job is run once");
            let result = unwind::catch(|| task(worker));
            // SAFETY: as above; the creator reads it only after the latch is set.
            *unsafe { &mut *this.result.get() } = Some(result);
            this.latch.record_stamp(worker); // for observers
            NonNull::from(this.latch)
        };
        // SAFETY: alive until all jobs that it counts have ended, of which this is one.
        unsafe { CountLatch::end(latch) };
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

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, _from: usize) {
        // SAFETY: made by `into_job` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.task)(worker);
    }
}

/// Its address stands for no group.
static NO_GROUP: u8 = 0;

/// The header of a job that is awaited together with others, such as the tasks of a scope.
#[derive(Debug)]
#[repr(C)]
pub struct GroupHeader {
    header: Job,
    /// The group of the job, or the address of `NO_GROUP`.
    pub group: NonNull<()>,
}

// SAFETY: the address of the group is only compared here, or given back to the code that chose it.
unsafe impl Send for GroupHeader {}
// SAFETY: as above.
unsafe impl Sync for GroupHeader {}

impl GroupHeader {
    /// For a job of `group`, an address that no other group has until the job has run.
    #[inline]
    #[must_use]
    pub fn new(kind: &'static Kind, group: NonNull<()>) -> Self {
        Self { header: Job::of(kind), group }
    }

    /// For a job that may belong to a group.
    pub(crate) fn of(kind: &'static Kind, group: Option<NonNull<()>>) -> Self {
        Self::new(kind, group.unwrap_or(NonNull::from(&NO_GROUP).cast()))
    }
}

/// A queue of jobs that run in the order in which they were pushed, as rayon's `JobFifo`.
///
/// The queue's own word is pushed to a deque once for each job. A thread that takes one of these
/// words runs the oldest job of the queue. So the jobs begin in order, though the deque gives its
/// owner the newest word first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct JobFifo {
    header: GroupHeader,
    jobs: Inbox<Job>,
}

impl JobFifo {
    const KIND: &'static Kind = &Kind::of_group(Self::execute);

    /// A queue of jobs, all of which belong to `group`.
    pub(crate) fn new(group: Option<NonNull<()>>) -> Self {
        Self { header: GroupHeader::of(Self::KIND, group), jobs: Inbox::new() }
    }

    /// Adds a job, and returns the word to push for it.
    ///
    /// # Safety
    /// The queue is alive until all its jobs have begun. The word is pushed or sent once.
    pub(crate) unsafe fn push(&self, job: NonNull<Job>) -> NonNull<Job> {
        self.jobs.send(job);
        NonNull::from(self).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        // SAFETY: the header is the first field of a `Self`, which is alive until the job that is
        // taken here has begun.
        let jobs = unsafe { &job.cast::<Self>().as_ref().jobs };
        let first = jobs.take().expect("there are as many jobs as words");
        // SAFETY: the caller of `push` promised that it may be run, and only this worker has taken
        // it.
        unsafe { execute(first, worker, from) }
    }
}
