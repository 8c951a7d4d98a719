//! The allocation of a task, and one run of it.

use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::error::JoinError;
use super::header::{self, Header, Table};
use super::state::State;
use crate::header::GroupHeader;
use crate::primitive::UnsafeCell;
use crate::shared::Shared;
use crate::unwind;

/// The owner of a task, as it runs the task: a pool, a scope, or a loom model. The defaults are
/// those of an owner that waits for its tasks, and takes their panics.
pub(crate) trait Owner {
    /// Sends the task's word to a queue.
    ///
    /// # Safety
    /// The task has not finished, and its state told the caller, and no other thread, to do this.
    unsafe fn schedule(task: NonNull<Header>);

    /// True if tasks that have waited are dropped instead of polled.
    fn is_closing(&self) -> bool {
        false
    }

    /// Adds a task that is about to wait to the owned tasks, if it is not there. From then until
    /// its [end](Ran::Finished), it is cancelled when all are. If they were before, it is now.
    fn track(&self, _task: NonNull<Header>) {}

    /// The pool with the handler for an unseen panic.
    fn pool(&self) -> Option<Arc<Shared>> {
        None
    }
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ran {
    /// The task waits, and is no longer the caller's.
    Waits,
    /// It was woken or cancelled during the run: the caller has its word again, and puts it into a
    /// queue.
    Woken,
    /// It has finished. The caller has the pool's reference, and drops it.
    Finished,
}

#[repr(C)]
pub(crate) struct TaskCell<F: Future> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
}

/// First the future, then the outcome.
#[repr(C)]
pub(crate) union Stage<F: Future> {
    future: ManuallyDrop<F>,
    outcome: ManuallyDrop<Result<F::Output, JoinError>>,
}

impl<F: Future> TaskCell<F> {
    const fn table<O: Owner>() -> Table {
        Table { schedule: O::schedule, outcome: Self::stage, free: Self::free }
    }

    /// A task that is about to be scheduled. The caller has its word, and the handle's reference.
    /// Without a future, one that a closing pool has refused: it has this error, and the handle's
    /// reference is the only one.
    ///
    /// The group of `head` is the address that `O` expects. The task is finished before what `F`
    /// borrows ends.
    pub(crate) fn allocate<O: Owner>(
        head: GroupHeader,
        is_observed: bool,
        future: Result<F, JoinError>,
    ) -> NonNull<Header>
    where
        F: Send,
        F::Output: Send,
    {
        let (state, stage) = match future {
            Ok(future) => (State::spawned(), Stage { future: ManuallyDrop::new(future) }),
            Err(error) => (State::refused(), Stage { outcome: ManuallyDrop::new(Err(error)) }),
        };
        let header = Header::new(head, state, const { &Self::table::<O>() }, is_observed);
        let cell = Self { header, stage: UnsafeCell::new(stage) };
        NonNull::from(Box::leak(Box::new(cell))).cast()
    }

    /// The address of the future, and later of the outcome.
    ///
    /// # Safety
    /// A task of this type, which is alive.
    unsafe fn stage(task: NonNull<Header>) -> NonNull<()> {
        // SAFETY: the header is the first field of a `Self` that is alive.
        let stage = unsafe { &(*task.cast::<Self>().as_ptr()).stage };
        NonNull::new(stage.with_mut(|stage| stage.cast())).expect("inside of a live allocation")
    }

    unsafe fn free(task: NonNull<Header>) {
        // SAFETY: alive until it is freed below.
        unsafe { task.as_ref() }.life.end();
        // SAFETY: made by `allocate`, and this was the last reference. What was in the stage has
        // been moved out or dropped.
        drop(unsafe { Box::from_raw(task.cast::<Self>().as_ptr()) });
    }

    /// Runs a task.
    ///
    /// # Safety
    /// A task of this type. The caller has its word.
    pub(crate) unsafe fn run(task: NonNull<Header>, owner: &impl Owner) -> Ran {
        // SAFETY: the word of the task exists, so it has not finished, and the pool's reference
        // exists. It is the caller's if the task finishes now.
        let header = unsafe { &*task.as_ptr() };
        let is_cancelled = header.state.begin().is_cancelled();
        let is_left_over = header.links.has_waited() && owner.is_closing();
        let is_wanted = !is_cancelled && !is_left_over;
        header.follow_causes();
        // SAFETY: this is the run, and the task has not finished.
        let outcome = unsafe { Self::step(task, is_wanted, owner) };
        header.record_cause();
        let Some(outcome) = outcome else {
            owner.track(task);
            return if header.state.pause().is_scheduled() { Ran::Woken } else { Ran::Waits };
        };
        // SAFETY: this is the run, and the future is gone.
        unsafe { Self::finish(task, owner, outcome) };
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
        owner: &impl Owner,
    ) -> Option<Result<F::Output, JoinError>> {
        // SAFETY: as the caller promises.
        let mut place: NonNull<F> = unsafe { Self::stage(task) }.cast();
        let outcome = if is_wanted {
            // SAFETY: the run alone uses the stage, and the future is there.
            let future = unsafe { place.as_mut() };
            // SAFETY: it stays where it is until it is dropped there.
            let future = unsafe { Pin::new_unchecked(future) };
            // SAFETY: a run has the pool's reference.
            let waker = unsafe { header::borrowed_waker(task) };
            match unwind::catch(|| future.poll(&mut Context::from_waker(&waker))) {
                Ok(Poll::Pending) => return None,
                Ok(Poll::Ready(value)) => Ok(value),
                Err(payload) => Err(JoinError::panicked(payload, owner.pool())),
            }
        } else {
            Err(JoinError::cancelled())
        };
        // SAFETY: the future is there, the run alone uses it, and it is never used again.
        let dropped = unwind::catch(|| unsafe { place.drop_in_place() });
        Some(match (outcome, dropped) {
            (outcome, Ok(())) => outcome,
            (Err(first), Err(second)) if !first.is_cancelled() => {
                unwind::discard(second);
                Err(first)
            }
            (outcome, Err(payload)) => {
                unwind::drop_quietly(outcome);
                Err(JoinError::panicked(payload, owner.pool()))
            }
        })
    }

    /// Leaves the outcome to the handle, if there is one, and wakes what awaits it.
    ///
    /// # Safety
    /// The caller runs the task, and the future is gone.
    unsafe fn finish(
        task: NonNull<Header>,
        owner: &impl Owner,
        outcome: Result<F::Output, JoinError>,
    ) {
        // SAFETY: the caller has the pool's reference.
        let header = unsafe { task.as_ref() };
        // SAFETY: as the caller promises.
        let place: NonNull<Result<F::Output, JoinError>> = unsafe { Self::stage(task) }.cast();
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
            drop(JoinError::panicked(payload, owner.pool()));
        }
    }
}
