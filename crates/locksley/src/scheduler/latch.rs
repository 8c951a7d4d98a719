//! Latches: how a task announces, once, that it has ended.

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
    /// The latch is alive when the call begins. The waiter may free it as soon as it sees the latch
    /// set, so an implementation does not touch the latch after that.
    unsafe fn set(this: NonNull<Self>);
}

/// A flag that is set once. A latch holds one, and the thread to wake.
///
/// Its word is 1 when it is set. Before that, the word may hold a pointer, as in a
/// [`Job`](crate::scheduler::job::Job).
#[derive(Debug)]
pub(crate) struct Flag(AtomicPtr<()>);

impl Flag {
    /// The word of a flag that is set. No pointer in a flag has this value.
    pub(crate) const SET: *mut () = std::ptr::without_provenance_mut(1);

    pub(crate) fn new() -> Self {
        Self::with_pointer(std::ptr::null_mut())
    }

    /// A flag that is not set, and holds `pointer` until then.
    #[inline]
    pub(crate) fn with_pointer(pointer: *mut ()) -> Self {
        Self(AtomicPtr::new(pointer))
    }

    /// The pointer in a flag that is not set.
    ///
    /// # Safety
    /// No other thread may set the flag.
    #[inline]
    pub(crate) unsafe fn pointer(&self) -> *mut () {
        // Relaxed: the caller got the address of the flag by an access that orders.
        self.0.load(Ordering::Relaxed)
    }

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

    /// The word, for uses that give it more states than set and not set.
    pub(crate) fn load(&self) -> *mut () {
        // Acquire pairs with the release in `compare_exchange`.
        self.0.load(Ordering::Acquire)
    }

    /// Changes the word from `from` to `to`. Returns the word before; `Err` if it was another one.
    pub(crate) fn compare_exchange(&self, from: *mut (), to: *mut ()) -> Result<*mut (), *mut ()> {
        // Release pairs with the acquire in `load` and `is_set`: a thread that sees the word sees
        // what was done before. Acquire on failure, as in `load`.
        self.0.compare_exchange(from, to, Ordering::Release, Ordering::Acquire)
    }

    /// Clears the flag.
    pub(crate) fn clear(&self) {
        // Acquire pairs with the release in the last `set`.
        self.0.swap(std::ptr::null_mut(), Ordering::Acquire);
    }
}

/// A latch for which a worker waits.
#[derive(Debug)]
pub(crate) struct WorkerLatch<'w> {
    flag: Flag,
    /// The slot of the waiter.
    waiter: usize,
    home: &'w Arc<Shared>,
    /// True if a thread of another pool may set the latch: it has to keep the waiter's pool alive.
    is_cross: bool,
}

impl<'w> WorkerLatch<'w> {
    /// A latch that a worker of the waiter's own pool sets.
    pub(crate) fn new(waiter: &'w Worker) -> Self {
        let home = waiter.shared();
        Self { flag: Flag::new(), waiter: waiter.slot_index(), home, is_cross: false }
    }

    /// A latch that any thread may set.
    pub(crate) fn cross(waiter: &'w Worker) -> Self {
        Self { is_cross: true, ..Self::new(waiter) }
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
        let kept_alive = latch.is_cross.then(|| Arc::clone(latch.home));
        latch.flag.set();
        // SAFETY: kept alive by the clone, or by the worker that calls this, of the same pool.
        unsafe { &*home }.unpark(waiter);
        drop(kept_alive);
    }
}

/// A latch for which a thread that is not a worker blocks.
#[derive(Debug)]
pub(crate) struct ThreadLatch {
    flag: Flag,
    waiter: Thread,
    /// The generation of the process that has the thread which sets the latch.
    generation: u32,
}

impl ThreadLatch {
    /// A latch for which the calling thread waits.
    pub(crate) fn new() -> Self {
        let (waiter, generation) = (std::thread::current(), os::generation());
        Self { flag: Flag::new(), waiter, generation }
    }

    /// # Panics
    /// In a forked child, if a thread of the parent would set the latch. The frame may unwind,
    /// since no other thread of the child refers to it.
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

/// A latch for which a worker or another thread waits.
#[derive(Debug)]
pub(crate) enum AnyLatch<'w> {
    Worker(WorkerLatch<'w>),
    Thread(ThreadLatch),
}

impl<'w> AnyLatch<'w> {
    /// A latch for which the calling thread waits, which may be the worker `waiter`. Workers of
    /// `pool` set it.
    pub(crate) fn new(waiter: Option<&'w Worker>, pool: &Arc<Shared>) -> Self {
        match waiter {
            Some(worker) if worker.belongs_to(pool) => Self::Worker(WorkerLatch::new(worker)),
            Some(worker) => Self::Worker(WorkerLatch::cross(worker)),
            None => Self::Thread(ThreadLatch::new()),
        }
    }

    /// Waits until the latch is set. A worker waits by calling `wait`.
    pub(crate) fn wait_with(&self, wait: impl FnOnce(&Flag)) {
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

/// A borrowed latch.
impl<L: Latch> Latch for &L {
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive when the call begins; it is copied, and not used again.
        let latch: &L = unsafe { *this.as_ptr() };
        // SAFETY: alive, since this was.
        unsafe { L::set(NonNull::from(latch)) };
    }
}

/// A join counter: sets a latch when all tasks that were begun have ended.
#[derive(Debug)]
pub(crate) struct CountLatch<'w> {
    /// The number of tasks that have not ended, and 1 for the creator of the latch.
    unfinished: Countdown,
    all_done: AnyLatch<'w>,
    /// In an observed pool, what the waiter comes after.
    latest: LatestStamp,
}

impl<'w> CountLatch<'w> {
    /// A counter for which the calling thread waits, which may be the worker `waiter`. The thread
    /// counts as the first task. All other tasks run in `pool`.
    pub(crate) fn new(waiter: Option<&'w Worker>, pool: &Arc<Shared>) -> Self {
        let all_done = AnyLatch::new(waiter, pool);
        Self { unfinished: Countdown::new(1), all_done, latest: LatestStamp::new() }
    }

    /// Counts one more task. The caller is a task that has not ended.
    pub(crate) fn begin(&self) {
        self.unfinished.begin();
    }

    /// Records the stamp of the task that ends on `worker`. Called before [`Latch::set`].
    pub(crate) fn record_stamp(&self, worker: &Worker) {
        if let Some(stamp) = worker.stamp() {
            self.latest.record(stamp);
        }
    }

    /// Ends the caller's own task, and waits for all others. A worker waits by calling `wait`.
    pub(crate) fn end_and_wait(&self, wait: impl FnOnce(&Flag)) {
        // SAFETY: alive, since it is borrowed.
        unsafe { Self::set(NonNull::from(self)) };
        self.all_done.wait_with(wait);
        follow(self.latest.get());
    }
}

impl Latch for CountLatch<'_> {
    /// Counts the end of one task.
    unsafe fn set(this: NonNull<Self>) {
        // SAFETY: alive until all tasks have ended, and the caller's has not.
        let latch = unsafe { this.as_ref() };
        if latch.unfinished.end() {
            let all_done = NonNull::from(&latch.all_done);
            // SAFETY: alive until it is set, which only this call does.
            unsafe { AnyLatch::set(all_done) };
        }
    }
}
