//! Latches: how a task says, once, that it is done.

use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::Thread;

use crate::countdown::Countdown;
use crate::observe::LatestStamp;
use crate::os;
use crate::primitive::{AtomicPtr, Ordering};
use crate::scheduler::Shared;
use crate::scheduler::Worker;
use crate::scheduler::observed::follow;

/// Something that can be set once.
pub(crate) trait Latch {
    /// Sets it.
    ///
    /// # Safety
    /// The latch is alive when the call begins. As soon as the waiter learns of it, the waiter may
    /// free the latch, so an implementation does not touch it after it has published.
    unsafe fn set(this: NonNull<Self>);
}

/// The bare fact. Read with [`is_set`](Flag::is_set); published by a latch that knows which thread to
/// wake.
///
/// Its word is 1 when it is set. Before that it may hold a pointer: see [`Job`](crate::scheduler::job::Job).
#[derive(Debug)]
pub(crate) struct Flag(AtomicPtr<()>);

impl Flag {
    /// The word of a flag that is set: no pointer that a flag could hold.
    pub(crate) const SET: *mut () = std::ptr::without_provenance_mut(1);

    pub(crate) fn new() -> Self {
        Self::holding(std::ptr::null_mut())
    }

    /// A flag that is not set, in whose word a pointer is kept until then.
    #[inline]
    pub(crate) fn holding(pointer: *mut ()) -> Self {
        Self(AtomicPtr::new(pointer))
    }

    /// The pointer that is kept in the word of a flag that is not set.
    ///
    /// # Safety
    /// The caller alone may set the flag.
    #[inline]
    pub(crate) unsafe fn held(&self) -> *mut () {
        // Relaxed: the caller has got the flag's address by something that orders.
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire pairs with the release in `set`: what the task wrote is seen.
        self.0.load(Ordering::Acquire) == Self::SET
    }

    /// Whether it does not seem to be set. Exact where this thread has set it.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        // Relaxed: what this thread did is seen without more; the rest is decided elsewhere.
        self.0.load(Ordering::Relaxed) != Self::SET
    }

    pub(crate) fn set(&self) {
        self.0.store(Self::SET, Ordering::Release);
    }

    /// The word, for uses in which it tells more than that something has happened.
    pub(crate) fn seen(&self) -> *mut () {
        // Acquire pairs with the release in `exchange`.
        self.0.load(Ordering::Acquire)
    }

    /// Changes the word, if it is `from`. Returns what it was.
    pub(crate) fn exchange(&self, from: *mut (), to: *mut ()) -> Result<*mut (), *mut ()> {
        // Release pairs with the acquire in `seen` and in `is_set`: a thread that sees the word sees
        // what was done before. A failure may be followed by what the new word allows.
        self.0.compare_exchange(from, to, Ordering::Release, Ordering::Acquire)
    }

    /// Takes back that it was set.
    pub(crate) fn clear(&self) {
        // Acquire pairs with the release of the thread that set it last.
        self.0.swap(std::ptr::null_mut(), Ordering::Acquire);
    }
}

/// For a waiter that is a worker.
#[derive(Debug)]
pub(crate) struct WorkerLatch<'w> {
    flag: Flag,
    waiter: usize,
    home: &'w Arc<Shared>,
    /// Whether the task may run in another pool than the waiter's, and so has to keep that alive.
    from_abroad: bool,
}

impl<'w> WorkerLatch<'w> {
    /// To be set by a worker of the waiter's own pool.
    pub(crate) fn new(waiter: &'w Worker) -> Self {
        let home = waiter.shared();
        Self { flag: Flag::new(), waiter: waiter.slot_index(), home, from_abroad: false }
    }

    /// To be set by any thread.
    pub(crate) fn set_from_abroad(waiter: &'w Worker) -> Self {
        Self { from_abroad: true, ..Self::new(waiter) }
    }

    pub(crate) fn flag(&self) -> &Flag {
        &self.flag
    }
}

impl Latch for WorkerLatch<'_> {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until the flag is set below, after the last use of this reference.
        let latch = unsafe { this.as_ref() };
        let waiter = latch.waiter;
        let home: *const Shared = Arc::as_ptr(latch.home);
        let kept_alive = latch.from_abroad.then(|| Arc::clone(latch.home));
        latch.flag.set();
        // SAFETY: kept alive by the clone, or by the worker that calls this, of the same pool.
        unsafe { &*home }.unpark(waiter);
        drop(kept_alive);
    }
}

/// For a waiter that is not a worker: it blocks.
#[derive(Debug)]
pub(crate) struct ThreadLatch {
    flag: Flag,
    waiter: Thread,
    /// It is set by a thread of that generation.
    generation: u32,
}

impl ThreadLatch {
    /// For the calling thread to wait.
    pub(crate) fn new() -> Self {
        let (waiter, generation) = (std::thread::current(), os::generation());
        Self { flag: Flag::new(), waiter, generation }
    }

    /// # Panics
    /// If it was to be set by a thread that was lost in a fork. What that thread would have touched
    /// may go: it is not there to do so.
    pub(crate) fn wait(&self) {
        while !self.flag.is_set() {
            assert_eq!(self.generation, os::generation(), "a task was lost in a fork");
            std::thread::park();
        }
    }
}

impl Latch for ThreadLatch {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until the flag is set below, after the last use of this reference.
        let latch = unsafe { this.as_ref() };
        let waiter = latch.waiter.clone();
        latch.flag.set();
        waiter.unpark();
    }
}

/// For a waiter of either kind.
#[derive(Debug)]
pub(crate) enum AnyLatch<'w> {
    Worker(WorkerLatch<'w>),
    Thread(ThreadLatch),
}

impl<'w> AnyLatch<'w> {
    /// For the calling thread, which may be a worker, to be set by workers of `pool`.
    pub(crate) fn new(waiter: Option<&'w Worker>, pool: &Arc<Shared>) -> Self {
        match waiter {
            Some(worker) if worker.belongs_to(pool) => Self::Worker(WorkerLatch::new(worker)),
            Some(stranger) => Self::Worker(WorkerLatch::set_from_abroad(stranger)),
            None => Self::Thread(ThreadLatch::new()),
        }
    }

    /// Waits: a worker by `wait`.
    pub(crate) fn wait_by(&self, wait: impl FnOnce(&Flag)) {
        match self {
            Self::Worker(latch) => wait(latch.flag()),
            Self::Thread(latch) => latch.wait(),
        }
    }
}

impl Latch for AnyLatch<'_> {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until it is set below; the reference is not used after that.
        match unsafe { this.as_ref() } {
            // SAFETY: as the caller promises.
            Self::Worker(latch) => unsafe { WorkerLatch::set(NonNull::from(latch)) },
            // SAFETY: as the caller promises.
            Self::Thread(latch) => unsafe { ThreadLatch::set(NonNull::from(latch)) },
        }
    }
}

/// A latch that lies elsewhere, and is alive as long as this one.
impl<L: Latch> Latch for &L {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive when the call begins; it is copied, and not used again.
        let latch: &L = unsafe { *this.as_ptr() };
        // SAFETY: alive, since this was.
        unsafe { L::set(NonNull::from(latch)) };
    }
}

/// A join counter: sets a latch when as many tasks have ended as were begun.
#[derive(Debug)]
pub(crate) struct CountLatch<'w> {
    /// Tasks that have not ended, and 1 for the creator of the latch.
    unfinished: Countdown,
    all_done: AnyLatch<'w>,
    /// In an observed pool, what the waiter comes after.
    latest: LatestStamp,
}

impl<'w> CountLatch<'w> {
    /// For the calling thread, which may be a worker, and counts as the first task. All others run in
    /// `pool`.
    pub(crate) fn new(waiter: Option<&'w Worker>, pool: &Arc<Shared>) -> Self {
        let all_done = AnyLatch::new(waiter, pool);
        Self { unfinished: Countdown::new(1), all_done, latest: LatestStamp::new() }
    }

    /// One more task begins. The caller is a task that has not ended.
    pub(crate) fn begin(&self) {
        self.unfinished.begin();
    }

    /// The task that runs on `worker` ends. To be called before it is said by [`Latch::set`].
    pub(crate) fn ends_at(&self, worker: &Worker) {
        if let Some(stamp) = worker.stamp() {
            self.latest.record(stamp);
        }
    }

    /// The caller's own task has ended, and it waits for all others; as a worker by `wait`.
    pub(crate) fn end_and_wait(&self, wait: impl FnOnce(&Flag)) {
        // SAFETY: alive, since it is borrowed.
        unsafe { Self::set(NonNull::from(self)) };
        self.all_done.wait_by(wait);
        follow(self.latest.get());
    }
}

impl Latch for CountLatch<'_> {
    /// One task ends.
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until all tasks have ended, of which the caller's is one.
        let latch = unsafe { this.as_ref() };
        if latch.unfinished.end() {
            let all_done = NonNull::from(&latch.all_done);
            // SAFETY: alive until it is set, which nothing but this does.
            unsafe { AnyLatch::set(all_done) };
        }
    }
}
