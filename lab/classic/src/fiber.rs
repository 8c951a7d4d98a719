//! The stack of a thread, which outlives waits.
//!
//! A worker starts a thread on a fiber, and comes back to its scheduling loop when the thread waits
//! or ends. Any worker may resume the fiber.

use std::cell::{Cell, UnsafeCell};
use std::ptr::{self, NonNull};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use locksley_sys::primitive::{Ordering, thread};

use crate::worker::{Queued, Ready, Worker};

/// A thread, by its head.
pub(crate) trait Body {
    /// Runs the thread on a fiber.
    ///
    /// # Safety
    /// The head is one of a `Self`, to which the caller has exclusive access. The calling thread
    /// runs on the fiber.
    unsafe fn run(head: NonNull<Ready>, fiber: NonNull<Fiber>);
}

/// How a thread that waits is published: called by its worker when the fiber can be resumed, with
/// two values of the primitive that it waits for. Returns false if the thread need not wait. After
/// it has published the fiber, another worker may have resumed it already. So it uses nothing that
/// lies on the fiber's stack then.
pub(crate) type Publish = unsafe fn(*const (), i64, NonNull<Ready>, &Worker) -> bool;

/// The most spare fibers that a worker keeps to itself: a thread may start on one worker and end on
/// another, again and again.
const SPARE: usize = 16;

/// Why a fiber gave its worker back.
enum Pause {
    Ended,
    Waits(Publish, *const (), i64),
}

/// What a fiber is resumed with: a thread, if it has none. `None` resumes its thread, or ends a
/// fiber without one.
type Input = Option<(unsafe fn(NonNull<Ready>, NonNull<Fiber>), NonNull<Ready>, NonNull<Fiber>)>;

/// A stack, and the thread that runs on it. It lives until the machine ends.
#[repr(C)] // the head comes first: a pointer to it is one to the fiber
pub(crate) struct Fiber {
    head: Ready,
    coroutine: UnsafeCell<Coroutine<Input, Pause, ()>>,
    yielder: Cell<*const Yielder<Input, Pause>>,
    /// The worker that runs it.
    worker: Cell<*const Worker>,
}

impl Fiber {
    fn make(worker: &Worker) -> NonNull<Fiber> {
        let bytes = worker.shared.scheduler.stack_bytes;
        let stack = DefaultStack::new(bytes).unwrap_or_else(|error| {
            // Without this worker, the run would wait for ever.
            eprintln!("no memory for the stack of a thread: {error}");
            std::process::abort()
        });
        let coroutine = Coroutine::with_stack(stack, |yielder, mut input: Input| {
            while let Some((run, head, fiber)) = input {
                // SAFETY: fibers live as long as the machine.
                unsafe { fiber.as_ref() }.yielder.set(yielder);
                // SAFETY: `start` was called for this thread, and runs it on this fiber.
                unsafe { run(head, fiber) };
                input = yielder.suspend(Pause::Ended);
            }
        });
        let fiber = Fiber {
            head: Ready::new(resume, worker.index),
            coroutine: UnsafeCell::new(coroutine),
            yielder: Cell::new(ptr::null()),
            worker: Cell::new(worker),
        };
        NonNull::from(Box::leak(Box::new(fiber)))
    }

    /// The worker that runs the fiber, until the fiber waits.
    pub(crate) fn worker(&self) -> &Worker {
        // SAFETY: the fiber runs, and the worker that resumed it waits for it meanwhile.
        unsafe { &*self.worker.get() }
    }

    /// Suspends the fiber; the worker then calls `publish`. Returns when the thread no longer
    /// waits.
    pub(crate) fn wait(&self, publish: Publish, of: *const (), number: i64) {
        // The thread may continue on another OS thread, which has a count of panics of its own.
        assert!(!thread::panicking(), "a thread waits while it panics");
        // SAFETY: only the thread that runs on the fiber calls this, from within the coroutine.
        let yielder = unsafe { &*self.yielder.get() };
        yielder.suspend(Pause::Waits(publish, of, number));
    }
}

/// Runs a thread that has not begun, on a spare fiber or a new one.
///
/// # Safety
/// The head is one of a `B`, to which the caller has exclusive access.
pub(crate) unsafe fn start<B: Body>(head: NonNull<Ready>, worker: &Worker) {
    let spare = worker.spare.borrow_mut().pop().or_else(|| worker.shared.spare.pop());
    let fiber = spare.map_or_else(|| Fiber::make(worker), |spare| spare.0.cast());
    // SAFETY: a spare fiber belongs to its worker.
    unsafe { run(fiber, Some((B::run, head, fiber)), worker) };
}

/// Runs a thread that no longer waits.
///
/// # Safety
/// It is the head of a fiber that was published, to which the caller has exclusive access.
unsafe fn resume(head: NonNull<Ready>, worker: &Worker) {
    // SAFETY: as the caller says.
    unsafe { run(head.cast(), None, worker) };
}

/// Runs a fiber until its thread waits or ends.
///
/// # Safety
/// The caller has exclusive access to the fiber. It waits, or it has no thread and gets one by
/// `input`.
unsafe fn run(fiber: NonNull<Fiber>, mut input: Input, worker: &Worker) {
    loop {
        // SAFETY: fibers live as long as the machine.
        let this = unsafe { fiber.as_ref() };
        this.worker.set(worker);
        this.head.last.store(worker.index, Ordering::Relaxed);
        // SAFETY: the caller has exclusive access, so nothing else refers to its coroutine.
        let coroutine = unsafe { &mut *this.coroutine.get() };
        match coroutine.resume(input.take()) {
            CoroutineResult::Yield(Pause::Waits(publish, of, number)) => {
                // SAFETY: the caller of `wait` answers for `of` and `number`. If this returns true,
                // another worker may run the fiber, which is not used any more here.
                if unsafe { publish(of, number, fiber.cast(), worker) } {
                    return;
                }
            }
            CoroutineResult::Yield(Pause::Ended) => {
                let mut spare = worker.spare.borrow_mut();
                return match spare.len() < SPARE {
                    true => spare.push(Queued(fiber.cast())),
                    false => worker.shared.spare.push(Queued(fiber.cast())),
                };
            }
            CoroutineResult::Return(()) => unreachable!("a fiber returns when it is freed"),
        }
    }
}

/// Frees a spare fiber.
pub(crate) fn free(spare: Queued) {
    // SAFETY: it was leaked when it was made, and a spare one is referred to by nothing else.
    let mut fiber = unsafe { Box::from_raw(spare.0.cast::<Fiber>().as_ptr()) };
    let _ = fiber.coroutine.get_mut().resume(None);
}
