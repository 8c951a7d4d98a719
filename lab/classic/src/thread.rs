//! Threads with join counters.
//!
//! Source: "Hood: A User-Level Threads Library for Multiprogrammed Multiprocessors", 1998, section
//! 2: "each thread [has] a join counter that represents the number of signals that the thread is
//! waiting for". `wait` sets the counter and blocks the thread; `signal` decrements it; at 0 the
//! thread is ready. Section 3.2: join counters are non-blocking.
//!
//! # The counter
//!
//! | value | meaning |
//! |---|---|
//! | 0 | no signal is missing, none is left over |
//! | -k | k signals came before the thread waits for them |
//! | k | the thread waits for k more |
//!
//! `wait(n)` adds n, and the thread goes on if the result is 0 or less. `signal` subtracts 1. Only
//! one signal can change the counter from 1 to 0, and then the thread waits: that signal unblocks
//! it.

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use locksley_sys::primitive::{AtomicI64, AtomicPtr, Ordering};

use crate::fiber::{self, Body, Fiber};
use crate::stats::Count;
use crate::worker::{Panic, Ready, Worker};

/// A join counter, and the thread that waits for it.
#[derive(Default)]
pub(crate) struct JoinCounter {
    missing: AtomicI64,
    /// Null until the thread waits for the first time.
    waits: AtomicPtr<Ready>,
}

impl JoinCounter {
    /// Blocks the thread on `fiber`, which is always the same for a counter, until it has received
    /// `signals` more.
    pub(crate) fn wait(&self, fiber: NonNull<Fiber>, signals: u32) {
        self.waits.store(fiber.cast().as_ptr(), Ordering::Relaxed);
        // SAFETY: fibers live as long as the machine.
        unsafe { fiber.as_ref() }.wait(add_missing, ptr::from_ref(self).cast(), signals.into());
    }

    /// Sends a signal, from a thread that runs on `worker`.
    ///
    /// # Safety
    /// The counter lives. Unless others keep it alive, it may be gone when this returns.
    pub(crate) unsafe fn signal(this: *const JoinCounter, worker: &Worker) {
        // SAFETY: the caller says that it lives.
        let missing = unsafe { &(*this).missing };
        // Release pairs with the acquire in `add_missing` and below: the thread that waited sees
        // what came before the signals. Acquire pairs with the release in `add_missing`.
        if missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the thread waits, and so the counter lives until it is unblocked.
            let waits = unsafe { &(*this).waits };
            let thread = NonNull::new(waits.load(Ordering::Relaxed));
            worker.unblock(thread.expect("a thread waits for this signal"));
        }
    }
}

/// Adds to the counter of a suspended thread. Returns false if all signals came.
///
/// # Safety
/// `of` is a counter, which lives until the thread is resumed.
unsafe fn add_missing(of: *const (), signals: i64, _: NonNull<Ready>, _: &Worker) -> bool {
    // SAFETY: the thread was not resumed yet.
    let missing = unsafe { &(*of.cast::<JoinCounter>()).missing };
    // Release: a signal that unblocks the thread sees `waits`, and the fiber as it is. Acquire
    // pairs with the signals that came before.
    missing.fetch_add(signals, Ordering::AcqRel) + signals > 0
}

/// A thread that may be sent signals.
#[derive(Clone, Default)]
pub struct Thread(pub(crate) Arc<JoinCounter>);

/// A thread that its parent joins: it lies in the parent's frame.
#[repr(C)] // the head comes first
pub(crate) struct Forked<F, R> {
    head: Ready,
    function: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Panic>>>,
    pub(crate) ended: JoinCounter,
}

impl<F: FnOnce(NonNull<Fiber>) -> R, R> Forked<F, R> {
    pub(crate) fn new(function: F) -> Self {
        let (function, result) = (UnsafeCell::new(Some(function)), UnsafeCell::new(None));
        let head = Ready::new(fiber::start::<Self>, 0);
        Forked { head, function, result, ended: JoinCounter::default() }
    }

    pub(crate) fn head(&self) -> NonNull<Ready> {
        NonNull::from(self).cast()
    }

    /// Runs it in its parent's frame, on its parent's fiber. The parent alone has it again.
    pub(crate) fn call(mut self, fiber: NonNull<Fiber>) -> R {
        self.function.get_mut().take().expect("it has not run")(fiber)
    }

    /// The result, after a signal said that it has ended.
    pub(crate) fn into_result(self) -> Result<R, Panic> {
        self.result.into_inner().expect("it has ended")
    }
}

impl<F: FnOnce(NonNull<Fiber>) -> R, R> Body for Forked<F, R> {
    unsafe fn run(head: NonNull<Ready>, fiber: NonNull<Fiber>) {
        // SAFETY: the parent keeps it in its frame until the signal below.
        let this = unsafe { head.cast::<Self>().as_ref() };
        // SAFETY: the parent does not use the function meanwhile.
        let function = unsafe { &mut *this.function.get() }.take().expect("it has not run");
        let result = catch_unwind(AssertUnwindSafe(|| function(fiber)));
        // SAFETY: as for the function.
        unsafe { this.result.get().write(Some(result)) };
        // SAFETY: fibers live as long as the machine.
        let worker = unsafe { fiber.as_ref() }.worker();
        // SAFETY: the parent waits for this signal, and frees the counter only after it.
        unsafe { JoinCounter::signal(ptr::from_ref(&this.ended), worker) };
    }
}

/// A thread that nothing joins.
#[repr(C)] // the head comes first
pub(crate) struct Created<F> {
    head: Ready,
    /// The deque or mailbox to which it was sent.
    sent_to: Option<usize>,
    function: F,
    itself: Thread,
}

impl<F: FnOnce(NonNull<Fiber>, Thread)> Created<F> {
    pub(crate) fn make(function: F, sent_to: Option<usize>) -> (NonNull<Ready>, Thread) {
        let itself = Thread::default();
        let head = Ready::new(fiber::start::<Self>, 0);
        let created = Created { head, sent_to, function, itself: itself.clone() };
        (NonNull::from(Box::leak(Box::new(created))).cast(), itself)
    }
}

impl<F: FnOnce(NonNull<Fiber>, Thread)> Body for Created<F> {
    unsafe fn run(head: NonNull<Ready>, fiber: NonNull<Fiber>) {
        // SAFETY: it was leaked by `make`, and this fiber alone has it.
        let this = unsafe { Box::from_raw(head.cast::<Self>().as_ptr()) };
        let Created { sent_to, function, itself, .. } = *this;
        // SAFETY: fibers live as long as the machine.
        let on = unsafe { fiber.as_ref() };
        let is_elsewhere = sent_to.is_some_and(|it| it != on.worker().deque);
        on.worker().count(Count::OutOfPlace, is_elsewhere.into());
        let ended = catch_unwind(AssertUnwindSafe(|| function(fiber, itself)));
        on.worker().shared.thread_ends(ended.err());
    }
}
