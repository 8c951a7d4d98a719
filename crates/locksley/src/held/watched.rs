//! What the code holds that a thread runs now.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{HeldLock, Wait};
use crate::unwind;
use crate::worker::Worker;

/// Called with each lock that is held across a wait.
pub(crate) type Handler = dyn Fn(&HeldLock) + Send + Sync;

thread_local! {
    /// Locks that the running task has taken. Those that it has let go of since are taken out with the next one.
    static HELD: RefCell<Vec<Arc<Lock>>> = const { RefCell::new(Vec::new()) };
}

/// A place in somebody's program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(&'static Location<'static>);

impl Place {
    /// Where the function was called that calls this.
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self(Location::caller())
    }
}

#[derive(Debug)]
struct Lock {
    name: &'static str,
    taken_at: Place,
    /// Whether it may be held by who waits on a stack of its own, since others who want it wait without their thread.
    is_ours: bool,
    /// Whether it has been let go of, by whoever had the guard. Relaxed: what another thread does at the same time may be seen or not.
    /// (No part of a protocol, so not one of `crate::primitive`.)
    is_free: AtomicBool,
}

impl Lock {
    fn is_free(&self) -> bool {
        self.is_free.load(Ordering::Relaxed)
    }

    fn matters_to(&self, wait: Wait) -> bool {
        let may_be_held = self.is_ours && matches!(wait, Wait::BlockOn | Wait::Channel);
        !may_be_held && !self.is_free()
    }
}

/// A lock that is held. Dropped, on whatever thread, it is not any more.
#[derive(Debug)]
pub(crate) struct Hold(Arc<Lock>);

impl Hold {
    /// The running task has taken a lock of this crate's.
    pub(crate) fn ours(name: &'static str, taken_at: Place) -> Self {
        Self::of(Lock { name, taken_at, is_ours: true, is_free: AtomicBool::new(false) })
    }

    /// The running task has taken a lock of somebody else's.
    pub(crate) fn foreign(name: &'static str, taken_at: Place) -> Self {
        Self::of(Lock { name, taken_at, is_ours: false, is_free: AtomicBool::new(false) })
    }

    fn of(lock: Lock) -> Self {
        let lock = Arc::new(lock);
        // On a thread that is ending there is no list, and nothing waits there any more.
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            held.retain(|lock| !lock.is_free());
            held.push(Arc::clone(&lock));
        });
        Self(lock)
    }

    /// Where the lock was taken.
    pub(crate) fn place(&self) -> Place {
        self.0.taken_at
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.is_free.store(true, Ordering::Relaxed);
    }
}

/// What is held by code that does not run just now, or, while that runs, by the code around it.
#[derive(Debug, Default)]
pub(crate) struct Context(RefCell<Vec<Arc<Lock>>>);

impl Context {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Runs `code`, or a part of it, whose context this is.
    pub(crate) fn within<R>(&self, code: impl FnOnce() -> R) -> R {
        struct Back<'c>(&'c Context);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.swap();
            }
        }
        self.swap();
        let _back = Back(self);
        code()
    }

    fn swap(&self) {
        let _ = HELD.try_with(|held| held.swap(&self.0));
    }
}

/// Runs a task of its own, which holds nothing yet.
pub(crate) fn apart<R>(task: impl FnOnce() -> R) -> R {
    Context::new().within(task)
}

/// Runs the waiter's own part of what it waits for, whose end is the time to [tell](tell).
///
/// A panic of the handler comes in the place of the result; one of the own part goes first.
pub(crate) fn then_wait<R>(
    waiter: Option<&Worker>,
    wait: Wait,
    place: Place,
    own: impl FnOnce() -> R,
) -> R {
    let result = unwind::halt(own);
    let told = unwind::halt(|| tell(waiter, wait, place));
    match (result, told) {
        (Ok(result), Ok(())) => result,
        (Ok(result), Err(payload)) => {
            if let Err(again) = unwind::halt(|| drop(result)) {
                unwind::discard(again);
            }
            unwind::resume(payload)
        }
        (Err(payload), told) => {
            told.err().into_iter().for_each(unwind::discard);
            unwind::resume(payload)
        }
    }
}

/// The running task is about to wait, perhaps: says what it holds, if the waiter is a worker.
///
/// # Panics
/// If the handler does.
pub(crate) fn tell(waiter: Option<&Worker>, wait: Wait, place: Place) {
    let Some(waiter) = waiter else { return };
    let held = HELD.try_with(|held| {
        let held = held.borrow();
        held.iter().filter(|lock| lock.matters_to(wait)).map(Arc::clone).collect::<Vec<_>>()
    });
    for lock in held.unwrap_or_default() {
        let Place(taken_at) = lock.taken_at;
        let report = HeldLock { lock: lock.name, taken_at, wait, waits_at: place.0 };
        // A handler that joins is not told of itself.
        apart(|| match waiter.shared().held_lock_handler() {
            Some(handler) => handler(&report),
            None => print(&report),
        });
    }
}

/// The same, of whatever worker the calling thread is.
///
/// # Panics
/// If the handler does.
pub(crate) fn tell_here(wait: Wait, place: Place) {
    Worker::with_current(|current| tell(current, wait, place));
}

/// Those that have been printed, by where the lock was taken and where it was held across something.
static PRINTED: Mutex<Vec<[&'static Location<'static>; 2]>> = Mutex::new(Vec::new());

fn print(report: &HeldLock) {
    let places = [report.taken_at, report.waits_at];
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.contains(&places) {
        return;
    }
    printed.push(places);
    drop(printed);
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        eprintln!("locksley: {report}\n{backtrace}");
    } else {
        eprintln!("locksley: {report}");
    }
}
