//! The allocation of a task, and one run of it.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::header::{Header, Table};
use super::outcome::{Outcome, UnseenPanic};
use super::state::State;
use super::waker;
use crate::header::GroupHeader;
use crate::primitive::UnsafeCell;
use crate::shared::Shared;
use crate::unwind::{self, Payload};

/// The owner of a task: a pool, a scope, or a loom model.
pub(crate) trait Owner: 'static {
    /// Sends the task's word to a queue.
    ///
    /// # Safety
    /// The task has not finished, and its state told the caller, and no other thread, to do this.
    unsafe fn schedule(task: NonNull<Header>);
}

/// The environment of a run.
pub(crate) trait Runner {
    /// True if tasks are dropped instead of polled.
    fn is_closing(&self) -> bool;
    /// Adds a task that is about to wait to the owned tasks, if it is not there. From then until
    /// its [end](Ran::Finished), it is cancelled when all are, unless `is_closing` is true after
    /// the return.
    fn track(&self, task: NonNull<Header>);
    /// The pool with the handler for an unseen panic.
    fn pool(&self) -> Option<Arc<Shared>>;
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ran {
    /// The task waits, and is no longer the caller's.
    Waits,
    /// It was woken during the run: the caller has its word again, and puts it into a queue.
    Woken,
    /// It has finished. The caller has the pool's reference, and drops it.
    Finished,
}

#[repr(C)]
pub(crate) struct TaskCell<F: Future, O> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
    owner: PhantomData<fn(O)>,
}

/// First the future, then the outcome.
#[repr(C)]
pub(crate) union Stage<F: Future> {
    future: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<F::Output>>,
}

impl<F, O> TaskCell<F, O>
where
    F: Future + Send,
    F::Output: Send,
    O: Owner,
{
    const TABLE: &'static Table =
        &Table { schedule: O::schedule, outcome: Self::outcome, free: Self::free };

    /// A task that is about to be scheduled. The caller has its word, and the handle's reference.
    ///
    /// The group of `head` is the address that `O` expects. The task is finished before what `F`
    /// borrows ends.
    pub(crate) fn spawned(head: GroupHeader, is_observed: bool, future: F) -> NonNull<Header> {
        let stage = Stage { future: ManuallyDrop::new(future) };
        Self::allocated(Header::new(head, State::spawned(), Self::TABLE, is_observed), stage)
    }

    /// A task that a closed pool has refused: it is cancelled. The caller has the only reference,
    /// the handle's.
    pub(crate) fn refused(head: GroupHeader) -> NonNull<Header> {
        let stage = Stage { outcome: ManuallyDrop::new(Outcome::Cancelled) };
        Self::allocated(Header::new(head, State::refused(), Self::TABLE, false), stage)
    }

    fn allocated(header: Header, stage: Stage<F>) -> NonNull<Header> {
        let cell = Self { header, stage: UnsafeCell::new(stage), owner: PhantomData };
        NonNull::from(Box::leak(Box::new(cell))).cast()
    }

    /// # Safety
    /// A task of this type, which is alive.
    unsafe fn stage(task: NonNull<Header>) -> *mut Stage<F> {
        // SAFETY: the header is the first field of a `Self` that is alive.
        let stage = unsafe { &(*task.cast::<Self>().as_ptr()).stage };
        stage.with_mut(|stage| stage)
    }

    unsafe fn outcome(task: NonNull<Header>) -> NonNull<()> {
        // SAFETY: a task of this type, as its table says, to which the caller has a reference.
        let stage = unsafe { Self::stage(task) };
        NonNull::new(stage.cast()).expect("inside of a live allocation")
    }

    unsafe fn free(task: NonNull<Header>) {
        // SAFETY: alive until it is freed below.
        unsafe { task.as_ref() }.life.end();
        // SAFETY: made by `allocated`, and this was the last reference. What was in the stage has
        // been moved out or dropped.
        drop(unsafe { Box::from_raw(task.cast::<Self>().as_ptr()) });
    }

    /// Runs a task.
    ///
    /// # Safety
    /// A task of this type. The caller has its word.
    pub(crate) unsafe fn run(task: NonNull<Header>, runner: &impl Runner) -> Ran {
        // SAFETY: the word of the task exists, so it has not finished, and the pool's reference
        // exists. It is the caller's if the task finishes now.
        let header = unsafe { &*task.as_ptr() };
        let outcome = loop {
            let is_wanted = !header.state.begin().is_cancelled() && !runner.is_closing();
            header.follow_causes();
            // SAFETY: this is the run, and the task has not finished.
            let outcome = unsafe { Self::step(task, is_wanted, runner) };
            header.record_cause();
            if let Some(outcome) = outcome {
                break outcome;
            }
            runner.track(task);
            if runner.is_closing() {
                let _ = header.state.cancel(); // this run sees to it below
            }
            let before = header.state.pause();
            if !before.is_scheduled() {
                return Ran::Waits;
            }
            if !before.is_cancelled() {
                return Ran::Woken;
            }
        };
        // SAFETY: this is the run, and the future is gone.
        unsafe { Self::finish(task, runner, outcome) };
        Ran::Finished
    }

    /// Polls the future, if it is wanted. If it is ready, or not wanted, drops it, and returns its
    /// outcome.
    ///
    /// # Safety
    /// The caller runs the task, and the future is there.
    unsafe fn step(
        task: NonNull<Header>,
        is_wanted: bool,
        runner: &impl Runner,
    ) -> Option<Outcome<F::Output>> {
        // SAFETY: as the caller promises.
        let place: *mut F = unsafe { Self::stage(task) }.cast();
        let outcome = if is_wanted {
            // SAFETY: the run alone uses the stage, and the future is there.
            let future = unsafe { &mut *place };
            // SAFETY: it stays where it is until it is dropped there.
            let future = unsafe { Pin::new_unchecked(future) };
            // SAFETY: a run has the pool's reference.
            let waker = unsafe { waker::borrowed(task) };
            match unwind::catch(|| future.poll(&mut Context::from_waker(&waker))) {
                Ok(Poll::Pending) => return None,
                Ok(Poll::Ready(value)) => Outcome::Returned(value),
                Err(payload) => panicked(payload, runner),
            }
        } else {
            Outcome::Cancelled
        };
        // SAFETY: the future is there, the run alone uses it, and it is never used again.
        let dropped = unwind::catch(|| unsafe { place.drop_in_place() });
        Some(match (outcome, dropped) {
            (outcome, Ok(())) => outcome,
            (first @ Outcome::Panicked(_), Err(second)) => {
                unwind::discard(second);
                first
            }
            (outcome, Err(payload)) => {
                unwind::drop_quietly(outcome);
                panicked(payload, runner)
            }
        })
    }

    /// Leaves the outcome to the handle, if there is one, and wakes what awaits it.
    ///
    /// # Safety
    /// The caller runs the task, and the future is gone.
    unsafe fn finish(task: NonNull<Header>, runner: &impl Runner, outcome: Outcome<F::Output>) {
        // SAFETY: the caller has the pool's reference.
        let header = unsafe { task.as_ref() };
        // SAFETY: as the caller promises.
        let place: *mut Outcome<F::Output> = unsafe { Self::stage(task) }.cast();
        // SAFETY: the run alone uses the stage until the state says that the task has finished.
        unsafe { place.write(outcome) };
        let before = header.state.finish();
        header.life.assert_alive();
        let last = if before.has_awaiter() {
            // SAFETY: an awaiter was set when the caller finished the task.
            let awaiter = unsafe { header.awaiter() };
            // SAFETY: written before the awaiter was set, and read once, because the handle leaves
            // no other after the end.
            let awaiter = unsafe { awaiter.read() };
            unwind::catch(|| awaiter.wake())
        } else if before.has_handle() {
            Ok(()) // the outcome is the handle's
        } else {
            // SAFETY: the handle is gone, and nothing else would use the outcome.
            unwind::catch(|| unsafe { place.drop_in_place() })
        };
        if let Err(payload) = last {
            // Not the panic of the task itself, and no other code handles it.
            drop(UnseenPanic::new(payload, runner.pool()));
        }
    }
}

fn panicked<T>(payload: Payload, runner: &impl Runner) -> Outcome<T> {
    Outcome::Panicked(UnseenPanic::new(payload, runner.pool()))
}
