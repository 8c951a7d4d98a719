//! Latches: a task's way of saying, once, that it is done.

use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::Thread;

use crate::countdown::Countdown;
use crate::fiber::Node;
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
/// | the two lowest bits of its word | meaning                                                                     |
/// |------|-----------------------------------------------------------------------------------|
/// | `00` | not set; a pointer is kept here meanwhile, or null: see [`Job`](crate::job::Job)  |
/// | `01` | set                                                                               |
/// | `10` | not set; the address of a [`Node`]: a stack waits, and whoever sets the flag gives it back to its worker |
/// | `11` | not set; a fork that its own worker has begun to run, but not by taking it back   |
#[derive(Debug)]
pub(crate) struct Flag(AtomicPtr<()>);

/// No pointers that a flag could hold.
const BEGUN: *mut () = std::ptr::without_provenance_mut(3);
const TAG: usize = 3;

/// The flag is set already: there is nothing to wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IsSet;

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

    /// Keeps another pointer there. Nobody else knows of the flag yet.
    #[inline]
    pub(crate) fn hold(&self, pointer: *mut ()) {
        self.0.store(pointer, Ordering::Relaxed);
    }

    /// The pointer that is kept in the word of a flag that is not set, whether a stack waits for it or not.
    ///
    /// # Safety
    /// The caller alone may set the flag.
    #[inline]
    pub(crate) unsafe fn held(&self) -> *mut () {
        // Acquire pairs with the release in `await_by`: what the node keeps is seen. For the rest the caller has got the
        // flag's address by something that orders.
        let word = self.0.load(Ordering::Acquire);
        match Node::in_word(word) {
            None => word,
            // SAFETY: found in a word that nobody else will set.
            Some(node) => unsafe { Node::kept(node) },
        }
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire pairs with the release in `set`: what the task wrote is seen.
        self.0.load(Ordering::Acquire) == Self::SET
    }

    /// Whether it is as it was made.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        // Relaxed: that this thread has touched it is seen without more, and what others did is decided elsewhere.
        self.0.load(Ordering::Relaxed).addr() & TAG == 0
    }

    /// The worker that made it begins to run what belongs to it, in another way than by taking it back. The calling thread alone
    /// may set it.
    pub(crate) fn begin_at_home(&self) {
        // Relaxed: for this thread, on which the waiter is too. Its node stays if it waits.
        if self.is_untouched() {
            self.0.store(BEGUN, Ordering::Relaxed);
        }
    }

    /// Whether that has been said, and the waiter has not left its stack since.
    pub(crate) fn is_begun_at_home(&self) -> bool {
        // Relaxed, as above.
        self.0.load(Ordering::Relaxed) == BEGUN
    }

    /// Sets what no stack can wait for.
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
        // Whoever changes it goes by nothing that was done before; but who is told what it is now may.
        self.0.compare_exchange(from, to, Ordering::Release, Ordering::Acquire)
    }

    /// Sets it. The stack that waits for it, if there is one, is the caller's to give back; the flag may be gone.
    #[must_use = "a stack that waits is to be given back to its worker"]
    pub(crate) fn set_for_stacks(&self) -> Option<NonNull<Node>> {
        // Release pairs with the acquire in `is_set` and `await_by`: what the task wrote is seen. Acquire pairs with the release
        // in `await_by`: the node is seen.
        Node::in_word(self.0.swap(Self::SET, Ordering::AcqRel))
    }

    /// Says that a stack waits; or that there is nothing to wait for.
    ///
    /// # Safety
    /// The node is that of the stack that the caller runs on, which it leaves next; until it is resumed, the node belongs to
    /// whoever sets the flag. No other stack waits for the flag.
    pub(crate) unsafe fn await_by(&self, node: NonNull<Node>) -> Result<(), IsSet> {
        // Acquire, here and below, as in `is_set`.
        let mut word = self.0.load(Ordering::Acquire);
        while word != Self::SET {
            // SAFETY: the caller's until the exchange below.
            unsafe { Node::keep(node, word) };
            // Release pairs with the acquire in `held` and `set_for_stacks`: the node is seen as it is.
            match self.0.compare_exchange(
                word,
                Node::as_word(node),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
        Err(IsSet)
    }

    /// Takes back that it was set. No stack waits for it.
    pub(crate) fn clear(&self) {
        // Acquire pairs with the release of whoever set it last.
        self.0.swap(std::ptr::null_mut(), Ordering::Acquire);
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
        let stack = latch.flag.set_for_stacks();
        // SAFETY: kept alive by our clone, or else by the worker that calls this, which belongs to the same pool.
        unsafe { &*home }.wake(waiter, stack);
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
            (Self::Worker(latch), Some(worker)) => worker.wait_until(latch.flag()),
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

    /// The caller's own task has ended, and it waits for all others; as a worker by `wait`.
    pub(crate) fn end_and_wait(&self, wait: Option<impl FnOnce(&Flag)>) {
        // SAFETY: alive, since it is borrowed.
        unsafe { Self::set(NonNull::from(self)) };
        match (&self.all_done, wait) {
            (AnyLatch::Worker(latch), Some(wait)) => wait(latch.flag()),
            (latch, _) => latch.wait(None),
        }
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
