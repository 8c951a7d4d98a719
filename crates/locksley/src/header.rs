//! What deques and inboxes hold: the header of a job.
//!
//! A *job* is a task in memory, in a frame or on the heap. It begins with its header, a [`Job`].
//! Its *word*, a `NonNull<Job>`, is the address of the header. `job/` has the kinds of jobs.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::deque::Inbox;
use crate::numbers::Slot;
use crate::primitive::{AtomicPtr, Ordering};

/// A flag that is set once. A latch holds one, and the thread to wake.
///
/// Its word is 1 when it is set. Before that, the word may hold other states, as in a [`Job`].
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicPtr<()>);

impl Flag {
    /// The word of a flag that is set. No other state has this value.
    const SET: *mut () = std::ptr::without_provenance_mut(1);

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire pairs with the release in `set`: the writes of the task are seen.
        self.0.load(Ordering::Acquire) == Self::SET
    }

    /// True if the flag is not set, as far as this thread has seen. Exact if only this thread sets
    /// it.
    #[inline]
    pub(crate) fn is_unset_relaxed(&self) -> bool {
        // Relaxed: a thread sees its own writes; other writes are not relied on.
        self.0.load(Ordering::Relaxed) != Self::SET
    }

    pub(crate) fn set(&self) {
        self.0.store(Self::SET, Ordering::Release);
    }

    /// Clears the flag.
    pub(crate) fn clear(&self) {
        // Acquire pairs with the release in the last `set`.
        self.0.swap(std::ptr::null_mut(), Ordering::Acquire);
    }
}

/// The header: the first field of every job. Its word tells how to run the job. In a fork it is
/// also the latch:
///
/// | word | state | entered by |
/// |---|---|---|
/// | the address of a [`Kind`] | ready, or about to begin | the creator |
/// | a slot, a position, and the low bits 10 | runs there (`Theft`) | the thief |
/// | 1 | has ended | the thread that ran it |
#[derive(Debug)]
#[repr(C)]
pub struct Job(Flag);

/// The worker that runs a job. The kinds of jobs know its type, and the queues need not.
#[derive(Clone, Copy, Debug)]
pub struct WorkerRef<'w>(NonNull<()>, PhantomData<&'w ()>);

impl<'w> WorkerRef<'w> {
    pub(crate) fn new<W>(worker: &'w W) -> Self {
        Self(NonNull::from(worker).cast(), PhantomData)
    }

    /// # Safety
    /// It was made from a `W`.
    pub(crate) unsafe fn cast<W>(self) -> &'w W {
        // SAFETY: made from a reference to a `W` with this lifetime, as the caller promises.
        unsafe { self.0.cast().as_ref() }
    }
}

/// Runs a job on a worker. The last argument is the slot that it was taken from: that of the worker
/// that pushed it, if the job is a fork. For other jobs it only tells observers where they come
/// from.
type Execute = unsafe fn(NonNull<Job>, WorkerRef<'_>, usize);

/// How to run one kind of jobs. A header holds the address of its kind, and not that of the
/// function: a kind is aligned, so that the low bits tell the states of a header apart.
#[derive(Debug)]
#[repr(align(8))]
pub struct Kind {
    execute: Execute,
    /// True for the second half of a join. All other jobs begin with a [`GroupHeader`].
    is_fork: bool,
}

impl Kind {
    /// A kind of jobs that begin with a [`GroupHeader`].
    #[must_use]
    pub const fn of_group(execute: unsafe fn(NonNull<Job>, WorkerRef<'_>, usize)) -> Self {
        Self { execute, is_fork: false }
    }

    /// The kind of a join's second half.
    pub(crate) const fn of_fork(execute: Execute) -> Self {
        Self { execute, is_fork: true }
    }
}

const RUNS: usize = 2;

/// Which thread runs a stolen fork, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theft {
    /// The slot of the thread.
    pub(crate) thief: Slot,
    /// The lower half of the position where its deque ended when the fork began.
    start: u32,
}

impl Theft {
    /// The first bit of the position in the header's word.
    const START: u32 = 32;

    /// True if `position`, of a job in the thief's deque, is not below the position where that
    /// ended when the fork began. Compares 32 bits: no deque has room for 2³¹ jobs, so none lies so
    /// far below. One that lies so far above is refused, which loses a steal.
    pub(crate) fn covers(self, position: i64) -> bool {
        (position as u32).wrapping_sub(self.start) as i32 >= 0
    }
}

impl Job {
    #[inline]
    pub(crate) fn of(kind: &'static Kind) -> Self {
        Self(Flag(AtomicPtr::new(std::ptr::from_ref(kind).cast_mut().cast())))
    }

    /// Set when the job, a fork, has ended.
    #[inline]
    pub(crate) fn latch(&self) -> &Flag {
        &self.0
    }

    /// Records that the thread in `slot`, whose deque ends at `start`, runs the job, a fork that it
    /// has taken from another one.
    pub(crate) fn mark_stolen(&self, slot: Slot, start: i64) {
        // Where addresses are short there is no room for the position.
        let start = u64::from(start as u32) << Theft::START;
        let word = usize::try_from(start | (slot.get() << 2 | RUNS) as u64).unwrap_or(RUNS);
        // Relaxed: the word is all that is published.
        self.0.0.store(std::ptr::without_provenance_mut(word), Ordering::Relaxed);
    }

    /// Where the job, a fork, runs. `None` if it does not, and where addresses have 32 bits.
    pub(crate) fn theft(&self) -> Option<Theft> {
        // Relaxed: see `mark_stolen`.
        let word = self.0.0.load(Ordering::Relaxed).addr();
        let is_stolen = usize::BITS == u64::BITS && word & 3 == RUNS;
        is_stolen.then(|| Theft {
            thief: Slot::new((word as u64 as u32 >> 2) as usize),
            start: (word as u64 >> Theft::START) as u32,
        })
    }
}

/// Runs a job.
///
/// # Safety
/// The job is alive, only the caller has taken its word from a queue, and it is run once. `worker`
/// was made from a `Worker`. If the job is a fork, `from` is the slot of the worker that pushed it.
#[inline]
pub(crate) unsafe fn execute(job: NonNull<Job>, worker: WorkerRef<'_>, from: usize) {
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
    // Relaxed: the caller got the address of the header by an access that orders, and only the
    // thread that has taken the job's word changes the header.
    header.0.0.load(Ordering::Relaxed).cast()
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

/// A job that a worker has taken, and is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) job: NonNull<Job>,
    /// The slot that it was stolen from; for all other jobs the worker's own slot.
    pub(crate) from: Slot,
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

    unsafe fn execute(job: NonNull<Job>, worker: WorkerRef<'_>, from: usize) {
        // SAFETY: the header is the first field of a `Self`, which is alive until the job that is
        // taken here has begun.
        let jobs = unsafe { &job.cast::<Self>().as_ref().jobs };
        let first = jobs.take().expect("there are as many jobs as words");
        // SAFETY: the caller of `push` promised that it may be run, and only this worker has taken
        // it.
        unsafe { execute(first, worker, from) }
    }
}
