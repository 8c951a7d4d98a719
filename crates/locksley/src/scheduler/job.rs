//! Jobs: what deques and inboxes hold. A job is one word that points to a header that knows how to run it.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::deque::Inbox;
use crate::observe::{LatestStamp, Stamp};
use crate::scheduler::Worker;
use crate::scheduler::latch::{Flag, Latch};
use crate::unwind::{self, Payload};

/// The first field of every job: how to run what follows it, and then, for jobs that have no other
/// latch, that it was run.
#[derive(Debug)]
#[repr(C)]
pub struct Job(Flag);

/// Runs a job, on a worker, taken from the deque of the worker with that index.
type Execute = unsafe fn(NonNull<Job>, &Worker, usize);

/// How to run a kind of jobs. A header holds its address, and not that of the function, which may be
/// odd: the lowest bit of a flag's word has another use.
#[derive(Debug)]
#[repr(align(4))]
pub struct Kind {
    execute: Execute,
    role: Role,
}

/// What jobs of a kind are to the worker that finds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The second half of a join.
    Fork,
    /// A task of a scope, or an interval of a root: it begins with a [`Head`].
    OfGroup,
    Other,
}

impl Kind {
    /// For jobs of no group.
    #[must_use]
    pub const fn new(execute: unsafe fn(NonNull<Job>, &Worker, usize)) -> Self {
        Self { execute, role: Role::Other }
    }

    /// For jobs that begin with a [`Head`].
    #[must_use]
    pub const fn of_a_group(execute: unsafe fn(NonNull<Job>, &Worker, usize)) -> Self {
        Self { execute, role: Role::OfGroup }
    }

    /// For second halves of joins.
    const fn of_forks(execute: Execute) -> Self {
        Self { execute, role: Role::Fork }
    }
}

impl Job {
    #[inline]
    pub(crate) fn of(kind: &'static Kind) -> Self {
        Self(Flag::holding(std::ptr::from_ref(kind).cast_mut().cast()))
    }
}

/// Runs a job.
///
/// # Safety
/// The job is alive, was taken from a deque or an inbox by the caller alone, and is run once. It was pushed by the worker
/// with index `from`, if it was pushed.
#[inline]
pub(crate) unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
    // SAFETY: as the caller promises.
    let kind = unsafe { kind(job) };
    // SAFETY: `of` has put it there, and the job has not run.
    let execute = unsafe { (*kind).execute };
    // SAFETY: as the caller promises; and the header was put there by the type that `execute` belongs to.
    unsafe { execute(job, worker, from) }
}

/// What a job is to the worker that finds it.
///
/// # Safety
/// The job is alive, was taken from a deque or an inbox by the caller alone, and has not run.
pub(crate) unsafe fn role(job: NonNull<Job>) -> Role {
    // SAFETY: as the caller promises.
    let kind = unsafe { kind(job) };
    // SAFETY: as in `execute`.
    unsafe { (*kind).role }
}

/// The group that a job belongs to, if it belongs to one.
///
/// # Safety
/// As for [`role`].
pub(crate) unsafe fn group(job: NonNull<Job>) -> Option<NonNull<()>> {
    // SAFETY: as the caller promises.
    let is_of_group = unsafe { role(job) } == Role::OfGroup;
    // SAFETY: alive; and with this role it begins with a head.
    is_of_group.then(|| unsafe { job.cast::<Head>().as_ref() }.group)
}

/// What a job is: the pointer that was put into its header.
///
/// # Safety
/// As for [`role`].
#[inline]
unsafe fn kind(job: NonNull<Job>) -> *const Kind {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { job.as_ref() };
    // SAFETY: only the thread that has a job's word sets its header.
    unsafe { header.0.held() }.cast()
}

/// The second half of a join, in its creator's frame. It has no latch but its header, which whoever runs it sets, and wakes
/// the worker that it took it from: nothing is written for that before somebody does.
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
    const KIND: &'static Kind = &Kind::of_forks(Self::execute);

    #[inline]
    pub(crate) fn new(task: F) -> Self {
        let body = UnsafeCell::new(Body { task: ManuallyDrop::new(task) });
        Self { header: Job::of(Self::KIND), body }
    }

    /// The word to push, for the creator, on its own deque. It does not leave the job's frame before the job has
    /// [ended](Self::end), or before the word has come back.
    #[inline]
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// Whether its word may still lie where it was pushed: if not, its own worker has begun to run it, or it has ended. (A thief may
    /// have it in either case.)
    #[inline]
    pub(crate) fn may_be_there(&self) -> bool {
        self.header.0.is_untouched()
    }

    /// Set when it has run.
    #[inline]
    pub(crate) fn end(&self) -> &Flag {
        &self.header.0
    }

    /// The task, for the creator to run itself.
    ///
    /// # Safety
    /// The word has come back to the creator, who calls this once.
    #[inline]
    pub(crate) unsafe fn take_back(&self) -> F {
        // SAFETY: nobody else has the word, so nobody else touches the body.
        let body = unsafe { &mut *self.body.get() };
        // SAFETY: it was not run, so it is a task; it is taken once.
        unsafe { ManuallyDrop::take(&mut body.task) }
    }

    /// What the task returned, or its panic.
    ///
    /// # Safety
    /// The end has been set, and seen to be. This is called once.
    pub(crate) unsafe fn take_result(&self) -> Result<R, Payload> {
        // SAFETY: whoever ran the job has published, and does not touch it any more.
        let body = unsafe { &mut *self.body.get() };
        // SAFETY: it was run, so it is a result; it is taken once.
        unsafe { ManuallyDrop::take(&mut body.result) }
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive until
            // its end is set.
            let this = unsafe { job.cast::<Self>().as_ref() };
            if from != worker.slot_index() {
                worker.begin_stolen(job);
            }
            // SAFETY: the word was taken by this worker alone.
            let task = unsafe { this.take_back() };
            let result = ManuallyDrop::new(unwind::halt(|| task(worker)));
            // SAFETY: as above; the creator reads it only after the end is set.
            unsafe { *this.body.get() = Body { result } };
            worker.slot().now_runs(std::ptr::null_mut());
            this.end().set();
        }
        // The frame may be gone. The pool is not: this is one of its workers.
        if from != worker.slot_index() {
            worker.shared().unpark(from);
        }
    }
}

/// A job in its sender's frame, who waits for its latch before leaving it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct StackJob<F, R, L> {
    header: Job,
    latch: L,
    task: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
    /// In an observed pool, what the waiter comes after.
    latest: LatestStamp,
}

impl<F, R, L> StackJob<F, R, L>
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
    L: Latch,
{
    const KIND: &'static Kind = &Kind::new(Self::execute);

    pub(crate) fn new(task: F, latch: L) -> Self {
        Self {
            header: Job::of(Self::KIND),
            latch,
            task: UnsafeCell::new(Some(task)),
            result: UnsafeCell::new(None),
            latest: LatestStamp::new(),
        }
    }

    /// What the waiter comes after.
    pub(crate) fn latest(&self) -> Stamp {
        self.latest.get()
    }

    pub(crate) fn latch(&self) -> &L {
        &self.latch
    }

    /// The word to send. Whoever sends it does not leave the job's frame before the latch is set.
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
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

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, _from: usize) {
        let this: NonNull<Self> = job.cast();
        {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive until the latch is set.
            let this = unsafe { this.as_ref() };
            // SAFETY: the word was taken by this worker alone.
            let task = unsafe { &mut *this.task.get() }.take().expect("a job is run once");
            let result = unwind::halt(|| task(worker));
            // SAFETY: as above; the creator reads it only after the latch is set.
            *unsafe { &mut *this.result.get() } = Some(result);
            if let Some(stamp) = worker.stamp() {
                this.latest.record(stamp);
            }
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
    const KIND: &'static Kind = &Kind::new(Self::execute);

    /// The word to push or send.
    ///
    /// # Safety
    /// The job is run once, before what `F` borrows ends. `F` does not unwind.
    pub(crate) unsafe fn into_job(task: F) -> NonNull<Job> {
        let header = Job::of(Self::KIND);
        NonNull::from(Box::leak(Box::new(Self { header, task }))).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, _from: usize) {
        // SAFETY: made by `into_job` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.task)(worker);
    }
}

/// A task of a group, freed when it has run: a [`HeapJob`] that says which group.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct GroupJob<F> {
    head: Head,
    task: F,
}

/// The beginning of a job that is awaited together with others: a scope's, or a root interval's.
#[derive(Debug)]
#[repr(C)]
pub struct Head {
    header: Job,
    group: NonNull<()>,
}

// SAFETY: the group's address is only compared here, or given back to the code that chose it.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

impl Head {
    /// `group` is an address that no other group has meanwhile.
    #[inline]
    #[must_use]
    pub fn new(kind: &'static Kind, group: NonNull<()>) -> Self {
        Self { header: Job::of(kind), group }
    }

    /// The group of the job.
    #[inline]
    #[must_use]
    pub fn group(&self) -> NonNull<()> {
        self.group
    }
}

impl<F> GroupJob<F>
where
    F: FnOnce(&Worker, NonNull<()>) + Send,
{
    const KIND: &'static Kind = &Kind::of_a_group(Self::execute);

    /// The word to push or send. The task is given `group`, which is an address that no other group
    /// has meanwhile.
    ///
    /// # Safety
    /// As for [`HeapJob::into_job`].
    pub(crate) unsafe fn into_job(group: NonNull<()>, task: F) -> NonNull<Job> {
        let head = Head::new(Self::KIND, group);
        NonNull::from(Box::leak(Box::new(Self { head, task }))).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, _from: usize) {
        // SAFETY: made by `into_job` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.task)(worker, this.head.group);
    }
}

/// A line in which jobs stand. Its own word is pushed once for each of them; the thread that takes
/// one of these words, whichever it is, runs the job that has stood there longest.
///
/// So jobs that one worker pushes begin in that order, though its deque gives the newest word first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Line {
    head: Head,
    jobs: Inbox<Job>,
}

impl Line {
    const KIND: &'static Kind = &Kind::new(Self::execute);
    const OF_A_GROUP: &'static Kind = &Kind::of_a_group(Self::execute);

    pub(crate) fn new() -> Self {
        Self { head: Head::new(Self::KIND, NonNull::dangling()), jobs: Inbox::new() }
    }

    /// A line of tasks of one group.
    pub(crate) fn of_a_group(group: NonNull<()>) -> Self {
        Self { head: Head::new(Self::OF_A_GROUP, group), jobs: Inbox::new() }
    }

    /// Puts a job at the end, and returns the word to push next.
    ///
    /// # Safety
    /// The line is alive until the job, and all that stand there now, have begun. The word is pushed
    /// or sent once.
    pub(crate) unsafe fn enqueue(&self, job: NonNull<Job>) -> NonNull<Job> {
        self.jobs.send(job);
        NonNull::from(self).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        // SAFETY: the head is the first field of a `Self`, which is alive until the job that is
        // taken here has begun.
        let jobs = unsafe { &job.cast::<Self>().as_ref().jobs };
        let first = jobs.take().expect("there are as many jobs as words");
        // SAFETY: `enqueue` was promised that it may be run, and this worker alone has taken it.
        unsafe { execute(first, worker, from) }
    }
}
