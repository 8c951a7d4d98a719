//! Jobs: what deques and inboxes hold. A job is one word that points to a header that knows how to run it.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::deque::Inbox;
use crate::latch::{Flag, Latch};
use crate::meter::Meeting;
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// The first field of every job: how to run what follows it, and then, for those that have no other latch, that it
/// was run.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Job(Flag);

/// Runs a job, on a worker, taken from the deque of the worker with that index.
pub(crate) type Execute = unsafe fn(NonNull<Job>, &Worker, usize);

/// How to run a kind of jobs. It is the address of this that a header holds: that of a function may be odd, and a flag's word has
/// other uses for its two lowest bits.
#[derive(Debug)]
#[repr(align(4))]
pub(crate) struct Kind {
    execute: Execute,
    role: Role,
}

/// What jobs of a kind are to whoever finds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The second half of a join.
    Fork,
    /// A task of a scope.
    Scoped,
    /// An interval of a root.
    Interval,
    /// A future whose path is metered.
    Followed,
    Other,
}

impl Kind {
    pub(crate) const fn new(execute: Execute) -> Self {
        Self { execute, role: Role::Other }
    }

    /// For jobs that begin with a [`Head`].
    pub(crate) const fn of_intervals(execute: Execute) -> Self {
        Self { execute, role: Role::Interval }
    }

    /// For second halves of joins.
    pub(crate) const fn of_forks(execute: Execute) -> Self {
        Self { execute, role: Role::Fork }
    }

    /// For futures that are [followed](crate::strand::Followed).
    pub(crate) const fn of_followed(execute: Execute) -> Self {
        Self { execute, role: Role::Followed }
    }

    /// Runs a job.
    ///
    /// # Safety
    /// As for [`execute`](execute()); this is its kind, or was when it was made.
    pub(crate) unsafe fn execute(&self, job: NonNull<Job>, worker: &Worker, from: usize) {
        // SAFETY: as the caller promises.
        unsafe { (self.execute)(job, worker, from) }
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
    // SAFETY: `of` has put it there, or `becomes`, and the job has not run.
    let execute = unsafe { (*kind).execute };
    // SAFETY: as the caller promises; and the header was put there by the type that `execute` belongs to.
    unsafe { execute(job, worker, from) }
}

/// What a job is to whoever finds it.
///
/// # Safety
/// The job is alive, was taken from a deque or an inbox by the caller alone, and has not run.
pub(crate) unsafe fn role(job: NonNull<Job>) -> Role {
    // SAFETY: as the caller promises.
    let kind = unsafe { kind(job) };
    // SAFETY: as in `execute`.
    unsafe { (*kind).role }
}

/// The scope that a job is a task of, or the root that it is an interval of, if it is one.
///
/// # Safety
/// As for [`role`].
pub(crate) unsafe fn scope(job: NonNull<Job>) -> Option<NonNull<()>> {
    // SAFETY: as the caller promises.
    let its = unsafe { role(job) };
    let is_scoped = matches!(its, Role::Scoped | Role::Interval);
    // SAFETY: alive; and with these roles it is the first field of a head.
    is_scoped.then(|| unsafe { job.cast::<Head>().as_ref() }.scope)
}

/// What a job is: the pointer that was put into its header.
///
/// # Safety
/// As for [`role`].
#[inline]
pub(crate) unsafe fn kind(job: NonNull<Job>) -> *const Kind {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { job.as_ref() };
    // SAFETY: who has a job's word sets its header, if anybody does.
    unsafe { header.0.held() }.cast()
}

/// Has whoever takes a job run it as that kind says, instead of its own.
///
/// # Safety
/// Nobody has its word yet. The kind is alive, and runs such jobs, as long as the job.
pub(crate) unsafe fn becomes(job: NonNull<Job>, kind: *const Kind) {
    // SAFETY: alive, as the caller promises.
    let header = unsafe { job.as_ref() };
    header.0.hold(kind.cast_mut().cast());
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
    pub(crate) const KIND: &'static Kind = &Kind::of_forks(Self::execute);

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

    /// Set when somebody has run it.
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
        let stack = {
            // SAFETY: the header is the first field of a `Self`, which its creator keeps alive until its end is set.
            let this = unsafe { job.cast::<Self>().as_ref() };
            if from == worker.seat_index() {
                this.end().begin_at_home();
            } else {
                worker.begin_stolen(job);
            }
            // SAFETY: the word was taken by this worker alone.
            let task = unsafe { this.take_back() };
            let result = ManuallyDrop::new(unwind::halt(|| task(worker)));
            // SAFETY: as above; the creator reads it only after the end is set.
            unsafe { *this.body.get() = Body { result } };
            worker.second_half_ends();
            worker.seat().now_runs(std::ptr::null_mut());
            this.end().set_for_stacks()
        };
        // The frame may be gone. The pool is not: this is one of its workers.
        if from != worker.seat_index() || stack.is_some() {
            worker.shared().wake(from, stack);
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
    /// Where its path has come to, if it is metered.
    paths: Meeting,
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
            paths: Meeting::new(),
        }
    }

    /// Where the path of whoever ran it arrives before the latch is set.
    pub(crate) fn paths(&self) -> &Meeting {
        &self.paths
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
            worker.arrives_at(&this.paths);
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

/// A task of a scope, freed when it has run: a [`HeapJob`] that says which scope.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ScopedJob<F> {
    head: Head,
    task: F,
}

/// The beginning of a job that somebody waits for with others: a scope's, or a root interval's.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Head {
    header: Job,
    scope: NonNull<()>,
}

impl Head {
    /// `scope` is an address that nobody else who waits has meanwhile.
    #[inline]
    pub(crate) fn new(kind: &'static Kind, scope: NonNull<()>) -> Self {
        Self { header: Job::of(kind), scope }
    }

    /// Who waits for the job.
    #[inline]
    pub(crate) fn scope(&self) -> NonNull<()> {
        self.scope
    }
}

impl<F> ScopedJob<F>
where
    F: FnOnce(&Worker, NonNull<()>) + Send,
{
    const KIND: &'static Kind = &Kind { execute: Self::execute, role: Role::Scoped };
    const OF_INTERVALS: &'static Kind = &Kind::of_intervals(Self::execute);

    /// The word to push or send. The task is given `scope`, which is an address that no other scope has meanwhile.
    ///
    /// # Safety
    /// As for [`HeapJob::into_job`].
    pub(crate) unsafe fn into_job(scope: NonNull<()>, task: F) -> NonNull<Job> {
        // SAFETY: as the caller promises.
        unsafe { Self::into_job_of(Self::KIND, scope, task) }
    }

    /// The same for an interval of that root.
    ///
    /// # Safety
    /// As for [`HeapJob::into_job`].
    pub(crate) unsafe fn into_job_of_interval(root: NonNull<()>, task: F) -> NonNull<Job> {
        // SAFETY: as the caller promises.
        unsafe { Self::into_job_of(Self::OF_INTERVALS, root, task) }
    }

    unsafe fn into_job_of(kind: &'static Kind, scope: NonNull<()>, task: F) -> NonNull<Job> {
        let head = Head::new(kind, scope);
        NonNull::from(Box::leak(Box::new(Self { head, task }))).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, _from: usize) {
        // SAFETY: made by `into_job` and run once, as the caller promises.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.task)(worker, this.head.scope);
    }
}

/// A line in which jobs stand. Its own word is pushed once for each of them; whoever takes one of these words, whichever
/// it is, runs the job that has stood there longest.
///
/// So jobs that one worker pushes begin in that order, though its deque gives the newest word back first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Line {
    header: Job,
    jobs: Inbox<Job>,
}

impl Line {
    pub(crate) fn new() -> Self {
        let kind = const { &Kind::new(Self::execute) };
        Self { header: Job::of(kind), jobs: Inbox::new() }
    }

    /// Puts a job at the end, and returns the word to push next.
    ///
    /// # Safety
    /// The line is alive until the job, and all that stand there now, have begun. The word is pushed or sent once.
    pub(crate) unsafe fn enqueue(&self, job: NonNull<Job>) -> NonNull<Job> {
        self.jobs.send(job);
        NonNull::from(self).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        // SAFETY: the header is the first field of a `Self`, which is alive until the job that we take has begun.
        let first = first(unsafe { &job.cast::<Self>().as_ref().jobs });
        // SAFETY: whoever put it into the line promised that it may be run, and it was taken by this worker alone.
        unsafe { execute(first, worker, from) }
    }
}

/// A [`Line`] of tasks of one scope, whose word says which.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ScopedLine {
    head: Head,
    jobs: Inbox<Job>,
}

impl ScopedLine {
    const KIND: &'static Kind = &Kind { execute: Self::execute, role: Role::Scoped };

    pub(crate) fn new(scope: NonNull<()>) -> Self {
        let head = Head::new(Self::KIND, scope);
        Self { head, jobs: Inbox::new() }
    }

    /// Puts a task of the scope at the end, and returns the word to push next.
    ///
    /// # Safety
    /// As for [`Line::enqueue`].
    pub(crate) unsafe fn enqueue(&self, job: NonNull<Job>) -> NonNull<Job> {
        self.jobs.send(job);
        NonNull::from(self).cast()
    }

    unsafe fn execute(job: NonNull<Job>, worker: &Worker, from: usize) {
        // SAFETY: its head's header is the first field of a `Self`, which is alive until the job that we take has begun.
        let first = first(unsafe { &job.cast::<Self>().as_ref().jobs });
        // SAFETY: as in `Line::execute`.
        unsafe { execute(first, worker, from) }
    }
}

/// The job that has stood in a line longest, for whoever has one of its words.
fn first(jobs: &Inbox<Job>) -> NonNull<Job> {
    jobs.take().expect("there are as many jobs as words")
}
