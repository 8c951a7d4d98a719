//! What a thread's code is given: the interface of Hood's serial machine.
//!
//! Source: "Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, section
//! 2: "the `run` method is always called with one parameter: a pointer to an object of type
//! `HoodSerMach`".

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use locksley_sys::primitive::Ordering;

use crate::fiber::Fiber;
use crate::mailbox;
use crate::queues::Queues;
use crate::thread::{Created, Forked, JoinCounter, Thread};
use crate::worker::{Ready, Shared, Worker};

/// The thread that runs, and through it its worker. Threads may borrow what lives for `'e`.
pub struct Context<'e> {
    fiber: NonNull<Fiber>,
    itself: OnceCell<Thread>,
    /// Neither `Send` nor `Sync`; `'e` stays as it is.
    borrows: PhantomData<*mut &'e ()>,
}

impl<'e> Context<'e> {
    /// # Safety
    /// The calling thread runs on the fiber, as long as the result lives.
    unsafe fn new(fiber: NonNull<Fiber>, itself: Option<Thread>) -> Self {
        let itself = itself.map_or_else(OnceCell::new, OnceCell::from);
        Context { fiber, itself, borrows: PhantomData }
    }

    /// Makes a thread that nothing joins.
    pub(crate) fn thread(
        function: impl FnOnce(&Context<'e>),
        sent_to: Option<usize>,
    ) -> (NonNull<Ready>, Thread) {
        // SAFETY: a thread is called with the fiber that runs it.
        let context = |fiber, itself| unsafe { Context::new(fiber, Some(itself)) };
        Created::make(move |fiber, itself| function(&context(fiber, itself)), sent_to)
    }

    /// The fiber that runs the thread.
    pub(crate) fn fiber(&self) -> &Fiber {
        // SAFETY: fibers live as long as the machine, which outlives its threads.
        unsafe { self.fiber.as_ref() }
    }

    /// The worker, until the thread waits.
    pub(crate) fn worker(&self) -> &Worker {
        self.fiber().worker()
    }

    /// Computes both and returns what they return. Creates a thread for the second one and runs the
    /// first. Then it runs the thread if that is still at the bottom of the deque, or else waits
    /// for its signal.
    ///
    /// As in Cilk++, on which BWS is built, a thread that was not stolen is a procedure call.
    ///
    /// # Panics
    /// If either closure panics. If the first one panics and the second was not stolen, the second
    /// is dropped without running.
    #[inline]
    pub fn join<A: Send, B: Send>(
        &self,
        one: impl FnOnce(&Self) -> A,
        other: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        // SAFETY: a thread is called with the fiber that runs it.
        let forked = Forked::new(|fiber| other(&unsafe { Context::new(fiber, None) }));
        self.worker().push(self.worker().deque, forked.head());
        let one = catch_unwind(AssertUnwindSafe(|| one(self)));
        // The thread may have moved to another worker meanwhile.
        let worker = self.worker();
        let other = match worker.pop() {
            Some(newest) if newest == forked.head() => {
                one.is_ok().then(|| Ok(forked.call(self.fiber)))
            }
            newest => {
                newest.into_iter().for_each(|newest| worker.enqueue(worker.deque, newest));
                forked.ended.wait(self.fiber, 1);
                Some(forked.into_result())
            }
        };
        match (one, other) {
            (Ok(one), Some(Ok(other))) => (one, other),
            (Err(panic), _) | (_, Some(Err(panic))) => resume_unwind(panic),
            (Ok(_), None) => unreachable!("the second one ran"),
        }
    }

    /// Creates a thread that is not joined, and pushes it to the bottom of the worker's deque. With
    /// places, it goes to one place after the other.
    pub fn create(&self, function: impl FnOnce(&Context<'e>) + Send + 'e) -> Thread {
        self.create_at(None, function)
    }

    /// The same, for a place. [`Queues::OfPlaces`]: the thread goes into the deque of the place
    /// `place`. [`Queues::WithMailboxes`]: it goes into the mailbox of the worker `place`, and into
    /// the deque of the calling worker. [`Queues::OfWorkers`]: `place` is ignored.
    ///
    /// # Panics
    /// If there is no such place or worker, unless it is ignored.
    #[track_caller]
    pub fn create_at(
        &self,
        place: impl Into<Option<usize>>,
        function: impl FnOnce(&Context<'e>) + Send + 'e,
    ) -> Thread {
        let (place, worker) = (place.into(), self.worker());
        let Shared { scheduler, deques, turn, live, .. } = &*worker.shared;
        let next = || turn.fetch_add(1, Ordering::Relaxed) % deques.len();
        let sent_to = match scheduler.queues {
            Queues::OfWorkers => None,
            Queues::WithMailboxes => place,
            Queues::OfPlaces(_) => Some(place.unwrap_or_else(next)),
        };
        let is_there = sent_to.is_none_or(|place| place < deques.len());
        assert!(is_there, "the last place is {}", deques.len() - 1);
        live.fetch_add(1, Ordering::Relaxed);
        let (thread, itself) = Context::thread(function, sent_to);
        match (&scheduler.queues, sent_to) {
            (Queues::WithMailboxes, Some(affine)) => mailbox::push(thread, affine, worker),
            // The own deque, if that is the only one that a worker may push to.
            _ => worker.push(sent_to.unwrap_or(worker.deque), thread),
        }
        itself
    }

    /// A handle of this thread, to which signals can be sent.
    pub fn itself(&self) -> Thread {
        self.itself.get_or_init(Thread::default).clone()
    }

    /// Blocks this thread until it has received this many signals, beyond those that earlier waits
    /// have consumed.
    pub fn wait(&self, signals: u32) {
        self.itself().0.wait(self.fiber, signals);
    }

    /// Sends a signal to a thread.
    pub fn signal(&self, thread: &Thread) {
        // SAFETY: the handle keeps the counter alive.
        unsafe { JoinCounter::signal(Arc::as_ptr(&thread.0), self.worker()) };
    }

    /// Lets the worker run its other threads first.
    pub fn yield_now(&self) {
        self.fiber().wait(push_last, ptr::null(), 0);
    }

    /// The number of the worker that runs this thread, until the thread waits.
    pub fn worker_index(&self) -> usize {
        self.worker().index
    }
}

/// # Safety
/// Always safe to call by `Fiber::wait`. It is unsafe only because `Publish` is.
unsafe fn push_last(_: *const (), _: i64, thread: NonNull<Ready>, worker: &Worker) -> bool {
    worker.push_last(thread);
    true
}

/// A value for each worker: "process-specific data" of Hood's serial machines.
pub struct PerWorker<T>(Box<[T]>);

impl<T: Sync> PerWorker<T> {
    /// Makes the value of each worker.
    pub fn new(workers: usize, make: impl FnMut(usize) -> T) -> Self {
        PerWorker((0..workers).map(make).collect())
    }

    /// The value of the worker that runs this thread, until the thread waits.
    ///
    /// # Panics
    /// If the values were made for fewer workers.
    pub fn get(&self, context: &Context<'_>) -> &T {
        &self.0[context.worker_index()]
    }
}
