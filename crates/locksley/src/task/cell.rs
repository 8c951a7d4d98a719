//! A task's one allocation, and a run of it: poll, and see what has become of it meanwhile.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::header::{Header, Table};
use super::outcome::{Outcome, Unseen};
use super::state::State;
use super::waker;
use crate::held;
use crate::job::Job;
use crate::pool::Shared;
use crate::strand::Followed;
use crate::unwind::{self, Payload};

/// Where a task belongs. The model checker has one of its own.
pub(super) trait Home: 'static {
    /// Puts the task's word where somebody finds it and runs it.
    ///
    /// # Safety
    /// The task has not finished, and its state told the caller, and nobody else, to do this.
    unsafe fn schedule(task: NonNull<Header>);
}

/// Who runs a task.
pub(super) trait Runner {
    /// Whether tasks are dropped instead of polled.
    fn is_closing(&self) -> bool;
    /// The task is about to wait. From when this has returned until its [end](Ran::Finished), somebody sees to it that it is
    /// cancelled if all are, unless `is_closing` says so afterwards.
    fn remember(&self, task: NonNull<Header>);
    /// The task, whose path is metered, is polled from now on, or given up: who wakes it later has it polled again.
    fn begins(&self, _path: &Followed) {}
    /// The task is about to wait, or, if it `ends`, to say that it has ended; and its path is metered.
    fn leaves(&self, _path: &Followed, _ends: bool) {}
    /// Whoever is told of panics that nobody waits for.
    fn home(&self) -> Option<Arc<Shared>>;
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Ran {
    /// The task waits, and is not the caller's any more.
    Waits,
    /// It was woken meanwhile: the caller has its word again, and puts it into a queue.
    Woken,
    /// It has finished. The caller has the pool's reference, and gives it back.
    Finished,
}

#[repr(C)]
pub(super) struct TaskCell<F: Future, H> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
    /// The locks that the future holds while it waits. Of who runs the task, as the future is.
    held: held::Context,
    home: PhantomData<fn(H)>,
}

/// First the one, then the other.
#[repr(C)]
pub(super) union Stage<F: Future> {
    future: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<F::Output>>,
}

impl<F, H> TaskCell<F, H>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    H: Home,
{
    const TABLE: &'static Table =
        &Table { schedule: H::schedule, outcome: Self::outcome, free: Self::free };

    /// A task that is about to be scheduled: the caller has its word, and the handle's reference.
    pub(super) fn spawned(job: Job, home: *const (), future: F) -> NonNull<Header> {
        let stage = Stage { future: ManuallyDrop::new(future) };
        Self::allocated(Header::new(job, State::spawned(), Self::TABLE, home), stage)
    }

    /// A task that was cancelled before it began: the caller has the handle's reference, and there is no other.
    pub(super) fn stillborn(job: Job) -> NonNull<Header> {
        let stage = Stage { outcome: ManuallyDrop::new(Outcome::Cancelled) };
        let header = Header::new(job, State::stillborn(), Self::TABLE, std::ptr::null());
        Self::allocated(header, stage)
    }

    fn allocated(header: Header, stage: Stage<F>) -> NonNull<Header> {
        let (stage, held) = (UnsafeCell::new(stage), held::Context::new());
        let cell = Self { header, stage, held, home: PhantomData };
        NonNull::from(Box::leak(Box::new(cell))).cast()
    }

    /// # Safety
    /// A task of this type, which is alive.
    unsafe fn stage(task: NonNull<Header>) -> *mut Stage<F> {
        // SAFETY: alive, as the caller promises.
        unsafe { task.as_ref() }.has_stage();
        let cell: *mut Self = task.cast().as_ptr();
        // SAFETY: the header is the first field of a `Self` that is alive.
        UnsafeCell::raw_get(unsafe { &raw const (*cell).stage })
    }

    unsafe fn outcome(task: NonNull<Header>) -> NonNull<()> {
        // SAFETY: a task of this type, as its table says, which the caller has a reference to.
        let stage = unsafe { Self::stage(task) };
        NonNull::new(stage.cast()).expect("inside of what is alive")
    }

    unsafe fn free(task: NonNull<Header>) {
        // SAFETY: alive until it is freed below.
        unsafe { task.as_ref() }.ends();
        // SAFETY: as above.
        if unsafe { task.as_ref() }.state.is_followed() {
            // SAFETY: this was the last reference.
            unsafe { Followed::forget(task.cast()) };
        }
        // SAFETY: made by `allocated`, and this was the last reference. What is in the stage was moved out or dropped.
        drop(unsafe { Box::from_raw(task.cast::<Self>().as_ptr()) });
    }

    /// Runs a task.
    ///
    /// # Safety
    /// A task of this type, whose word the caller has.
    pub(super) unsafe fn run(task: NonNull<Header>, runner: &impl Runner) -> Ran {
        // SAFETY: it has not finished, or there would be no word, so it has the pool's reference; which is the caller's to
        // give back if it finishes now.
        let state = unsafe { &(*task.as_ptr()).state };
        let outcome = loop {
            let is_unwanted = state.begin().is_cancelled() || runner.is_closing();
            // SAFETY: running, by us, who have the pool's reference.
            let followed = unsafe { task.as_ref() }.followed();
            followed.into_iter().for_each(|path| runner.begins(path));
            let outcome = if is_unwanted {
                // SAFETY: running, by us.
                Some(unsafe { Self::give_up(task, runner) })
            } else {
                // SAFETY: running, by us, and never finished.
                unsafe { Self::poll(task, runner) }
            };
            if let Some(outcome) = outcome {
                break outcome;
            }
            runner.remember(task);
            if runner.is_closing() {
                // Who runs it sees to it below.
                let _ = state.cancel();
            }
            // SAFETY: running, by us, who have the pool's reference.
            let followed = unsafe { task.as_ref() }.followed();
            followed.into_iter().for_each(|path| runner.leaves(path, false));
            let before = state.pause();
            if !before.is_scheduled() {
                return Ran::Waits;
            }
            if !before.is_cancelled() {
                return Ran::Woken;
            }
        };
        // SAFETY: running, by us; the future is gone.
        unsafe { Self::finish(task, runner, outcome) };
        Ran::Finished
    }

    /// Polls the future. If it is done with, it is gone when this returns.
    ///
    /// # Safety
    /// The task is being run by the caller, and the future is there.
    unsafe fn poll(task: NonNull<Header>, runner: &impl Runner) -> Option<Outcome<F::Output>> {
        // SAFETY: as the caller promises.
        let future: *mut F = unsafe { Self::stage(task) }.cast();
        // SAFETY: whoever runs a task has the future; nobody else touches it.
        let future = unsafe { &mut *future };
        // SAFETY: it stays where it is until it is dropped there.
        let future = unsafe { Pin::new_unchecked(future) };
        // SAFETY: whoever runs a task has the pool's reference.
        let waker = unsafe { waker::lent(task) };
        // SAFETY: the header is the first field of a `Self` that is alive; and whoever runs a task has this, too.
        let held = unsafe { &(*task.cast::<Self>().as_ptr()).held };
        let polled = unwind::halt(|| held.within(|| future.poll(&mut Context::from_waker(&waker))));
        if matches!(polled, Ok(Poll::Pending)) {
            return None;
        }
        // SAFETY: as the caller promises, and it is not used any more.
        let dropped = unsafe { Self::drop_future(task) };
        Some(match (polled, dropped) {
            (Ok(Poll::Ready(value)), Ok(())) => Outcome::Returned(value),
            (Ok(Poll::Ready(value)), Err(payload)) => {
                // The first of two panics is the one to be seen.
                discard_value(value);
                panicked(payload, runner)
            }
            (Ok(Poll::Pending), _) => unreachable!("returned above"),
            (Err(payload), dropped) => {
                let _ = dropped.map_err(unwind::discard);
                panicked(payload, runner)
            }
        })
    }

    /// Drops the future instead of polling it.
    ///
    /// # Safety
    /// The task is being run by the caller, and the future is there.
    unsafe fn give_up(task: NonNull<Header>, runner: &impl Runner) -> Outcome<F::Output> {
        // SAFETY: as the caller promises.
        match unsafe { Self::drop_future(task) } {
            Ok(()) => Outcome::Cancelled,
            Err(payload) => panicked(payload, runner),
        }
    }

    /// # Safety
    /// The task is being run by the caller, and the future is there. It is not afterwards.
    unsafe fn drop_future(task: NonNull<Header>) -> Result<(), Payload> {
        // SAFETY: as the caller promises.
        let future: *mut F = unsafe { Self::stage(task) }.cast();
        unwind::halt(|| {
            // SAFETY: there, ours, and never used again.
            unsafe { future.drop_in_place() }
        })
    }

    /// Leaves the outcome to the handle, if there is one, and tells whoever waits.
    ///
    /// # Safety
    /// The task is being run by the caller, and the future is gone.
    unsafe fn finish(task: NonNull<Header>, runner: &impl Runner, outcome: Outcome<F::Output>) {
        // SAFETY: the caller has the pool's reference.
        let header = unsafe { task.as_ref() };
        // SAFETY: as the caller promises.
        let place: *mut Outcome<F::Output> = unsafe { Self::stage(task) }.cast();
        // SAFETY: nobody else touches the stage before the state says that the task has finished.
        unsafe { place.write(outcome) };
        header.followed().into_iter().for_each(|path| runner.leaves(path, true));
        let before = header.state.finish();
        header.must_be_alive();
        let last = if before.has_awaiter() {
            // SAFETY: an awaiter is set, and the caller has finished the task.
            let awaiter = unsafe { header.awaiter() };
            // SAFETY: written before the awaiter was set, and read once: nobody sets it any more.
            let awaiter = unsafe { awaiter.read() };
            unwind::halt(|| awaiter.wake())
        } else if before.has_handle() {
            Ok(()) // the outcome is the handle's
        } else {
            // SAFETY: the handle is gone, and nobody but it would touch the outcome.
            unwind::halt(|| unsafe { place.drop_in_place() })
        };
        if let Err(payload) = last {
            // Not the task's own panic, and nobody else would learn of it.
            drop(Unseen::new(payload, runner.home()));
        }
    }
}

fn panicked<T>(payload: Payload, runner: &impl Runner) -> Outcome<T> {
    Outcome::Panicked(Unseen::new(payload, runner.home()))
}

fn discard_value<T>(value: T) {
    if let Err(again) = unwind::halt(|| drop(value)) {
        unwind::discard(again);
    }
}
