//! Latches: a task's way of saying, once, that it is done.

use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::Thread;

use crate::countdown::Countdown;
use crate::os;
use crate::pool::Shared;
use crate::primitive::{AtomicPtr, Ordering};
use crate::worker::Worker;

/// Something that can be said once.
pub(crate) trait Latch {
    /// Says it.
    ///
    /// # Safety
    /// The latch is alive when the call begins. As soon as the waiter learns of it, the waiter may free the latch, so
    /// an implementation does not touch it after it has published.
    unsafe fn set(this: NonNull<Self>);
}

/// The bare fact. Read with [`is_set`](Flag::is_set); published by a latch that knows whom to wake.
///
/// Until it is set, its word may stand for something else: see [`Job`](crate::job::Job).
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
    #[inline]
    pub(crate) fn held(&self) -> *mut () {
        // Relaxed: whoever may read it has got the flag's address by something that orders.
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire pairs with the release in `set`: what the task wrote is seen.
        self.0.load(Ordering::Acquire) == Self::SET
    }

    pub(crate) fn set(&self) {
        self.0.store(Self::SET, Ordering::Release);
    }

    /// The word, for those that have more to say by it than that something has happened.
    pub(crate) fn seen(&self) -> *mut () {
        // Acquire pairs with the release in `exchange`.
        self.0.load(Ordering::Acquire)
    }

    /// Changes the word, if it is `from`. Returns what it was.
    pub(crate) fn exchange(&self, from: *mut (), to: *mut ()) -> Result<*mut (), *mut ()> {
        // Release pairs with the acquire in `seen` and in `is_set`: whoever sees the word sees what was done before.
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }
}

/// For a waiter that is a worker: it works on while it waits, and may sleep.
#[derive(Debug)]
pub(crate) struct WorkerLatch<'w> {
    flag: Flag,
    waiter: usize,
    home: &'w Arc<Shared>,
    /// Whether the task may run in another pool than the waiter's, and so must keep the waiter's alive.
    from_abroad: bool,
}

impl<'w> WorkerLatch<'w> {
    /// To be set by a worker of the waiter's own pool.
    pub(crate) fn new(waiter: &'w Worker) -> Self {
        let home = waiter.shared();
        Self { flag: Flag::new(), waiter: waiter.seat_index(), home, from_abroad: false }
    }

    /// To be set by anybody.
    pub(crate) fn set_from_abroad(waiter: &'w Worker) -> Self {
        Self { from_abroad: true, ..Self::new(waiter) }
    }

    pub(crate) fn flag(&self) -> &Flag {
        &self.flag
    }
}

impl Latch for WorkerLatch<'_> {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until the flag is set, which happens below, after the last use of this reference.
        let latch = unsafe { this.as_ref() };
        let waiter = latch.waiter;
        let home: *const Shared = Arc::as_ptr(latch.home);
        let kept_alive = latch.from_abroad.then(|| Arc::clone(latch.home));
        latch.flag.set();
        // SAFETY: kept alive by our clone, or else by the worker that calls this, which belongs to the same pool.
        unsafe { &*home }.sleep().wake(waiter);
        drop(kept_alive);
    }
}

/// For a waiter that is not a worker: it blocks.
#[derive(Debug)]
pub(crate) struct ThreadLatch {
    flag: Flag,
    waiter: Thread,
    /// Who sets it is a thread of that generation.
    generation: u32,
}

impl ThreadLatch {
    /// For the calling thread to wait.
    pub(crate) fn new() -> Self {
        let (waiter, generation) = (std::thread::current(), os::generation());
        Self { flag: Flag::new(), waiter, generation }
    }

    /// # Panics
    /// If it was to be set by a thread that was lost in a fork. What that would have touched may go: it is not there to do so.
    pub(crate) fn wait(&self) {
        while !self.flag.is_set() {
            assert_eq!(self.generation, os::generation(), "a task was lost in a fork");
            std::thread::park();
        }
    }
}

impl Latch for ThreadLatch {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until the flag is set, which happens below, after the last use of this reference.
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
        Self::at_home(waiter, waiter.is_some_and(|worker| worker.belongs_to(pool)))
    }

    /// The same; `is_home` says whether the waiter belongs to the pool whose workers set it.
    pub(crate) fn at_home(waiter: Option<&'w Worker>, is_home: bool) -> Self {
        match waiter {
            Some(worker) if is_home => Self::Worker(WorkerLatch::new(worker)),
            Some(stranger) => Self::Worker(WorkerLatch::set_from_abroad(stranger)),
            None => Self::Thread(ThreadLatch::new()),
        }
    }

    /// Waits; called with the waiter for which it was made.
    pub(crate) fn wait(&self, waiter: Option<&Worker>) {
        match (self, waiter) {
            (Self::Worker(latch), Some(worker)) => worker.work_until(latch.flag()),
            (Self::Thread(latch), None) => latch.wait(),
            _ => unreachable!("a latch is waited for by whom it was made for"),
        }
    }
}

impl Latch for AnyLatch<'_> {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until it is set, which happens below; the reference is not used after that.
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
    /// Tasks that have not ended, and 1 for who created the latch.
    unfinished: Countdown,
    all_done: AnyLatch<'w>,
}

impl<'w> CountLatch<'w> {
    /// For the calling thread, which may be a worker, and counts as the first task. All others run in `pool`.
    pub(crate) fn new(waiter: Option<&'w Worker>, pool: &Arc<Shared>) -> Self {
        Self { unfinished: Countdown::new(1), all_done: AnyLatch::new(waiter, pool) }
    }

    /// One more task begins. The caller is a task that has not ended.
    pub(crate) fn begin(&self) {
        self.unfinished.begin();
    }

    /// The caller's own task has ended, and it waits for all others.
    pub(crate) fn end_and_wait(&self, waiter: Option<&Worker>) {
        // SAFETY: alive, since it is borrowed.
        unsafe { Self::set(NonNull::from(self)) };
        self.all_done.wait(waiter);
    }
}

impl Latch for CountLatch<'_> {
    /// One task ends.
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until all tasks have ended, of which the caller's is one.
        let latch = unsafe { this.as_ref() };
        if latch.unfinished.end() {
            let all_done = NonNull::from(&latch.all_done);
            // SAFETY: alive until it is set, which nobody but us does.
            unsafe { AnyLatch::set(all_done) };
        }
    }
}
