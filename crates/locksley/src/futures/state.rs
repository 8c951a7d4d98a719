//! A task's state: some facts and the number of references, in one word.
//!
//! | bits | fact | set by | cleared by |
//! |---|---|---|---|
//! | 0 | `SCHEDULED` | a wake, a cancellation, or spawning | the run, when it begins |
//! | 1 | `RUNNING` | the run, when it begins | the run, when it pauses or finishes |
//! | 2 | `FINISHED` | the run, when the outcome is there | - |
//! | 3 | `CANCELLED` | a cancellation | - |
//! | 4 | `HANDLE` | spawning | the handle, if it is dropped before the end |
//! | 5 | `AWAITER` | the handle, when it has registered a waker | the handle, before the end |
//! | 6.. | references | the pool's, the handle's, the list's ([`OwnedTasks`](super::owned::OwnedTasks)), one for each waker | |
//!
//! *Scheduled and not running*: the task's word is in one queue, or one thread is about to put it
//! there, or has just taken it out. *Scheduled and running*: it was woken during a poll, and the
//! run sees to it.

use crate::primitive::{AtomicUsize, Ordering};

const SCHEDULED: usize = 1;
const RUNNING: usize = 1 << 1;
const FINISHED: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const HANDLE: usize = 1 << 4;
const AWAITER: usize = 1 << 5;
const REFERENCE: usize = 1 << 6;

/// A program can only come to this many references by forgetting wakers.
const TOO_MANY: usize = usize::MAX / 2;

pub(super) struct State(AtomicUsize);

/// The word as it was before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Before(usize);

impl Before {
    pub(super) fn is_scheduled(self) -> bool {
        self.0 & SCHEDULED != 0
    }

    pub(super) fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }

    pub(super) fn has_handle(self) -> bool {
        self.0 & HANDLE != 0
    }

    pub(super) fn has_awaiter(self) -> bool {
        self.0 & AWAITER != 0
    }

    /// The task's word was nowhere, and there was something left to run.
    fn was_waiting(self) -> bool {
        self.0 & (SCHEDULED | RUNNING | FINISHED) == 0
    }

    fn references(self) -> usize {
        self.0 / REFERENCE
    }
}

/// What the code that has woken or cancelled a task has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Woken {
    /// Put the task's word into a queue.
    Schedule,
    /// Nothing: another thread sees to the task, or it has finished.
    Nothing,
    /// Free the task: this was the last reference.
    Free,
}

/// The task has finished: the outcome is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finished;

impl State {
    /// Its word is about to be pushed. There are two references: the pool's and the handle's.
    pub(super) fn spawned() -> Self {
        Self(AtomicUsize::new(SCHEDULED | HANDLE | (2 * REFERENCE)))
    }

    /// A task that never runs. The one reference is the handle's.
    pub(super) fn refused() -> Self {
        Self(AtomicUsize::new(CANCELLED | FINISHED | HANDLE | REFERENCE))
    }

    /// Wakes the task, and drops so many references of the caller's: none, or one.
    pub(super) fn wake(&self, references: usize) -> Woken {
        self.schedule(SCHEDULED, references)
    }

    /// Cancels the task.
    pub(super) fn cancel(&self) -> Woken {
        self.schedule(SCHEDULED | CANCELLED, 0)
    }

    fn schedule(&self, bits: usize, references: usize) -> Woken {
        let change = |before| Some((before | bits) - references * REFERENCE);
        // AcqRel, also where the bit is set: the run that follows sees what the waker did (by
        // `begin`, or, if it is running, by `pause` and then `begin`). And as in `drop_reference`.
        let (Ok(before) | Err(before)) =
            self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, change);
        match Before(before) {
            before if before.was_waiting() => Woken::Schedule,
            before if before.references() == references => Woken::Free,
            _ => Woken::Nothing,
        }
    }

    /// A run begins: the caller has taken the task's word out of a queue.
    pub(super) fn begin(&self) -> Before {
        // Acquire pairs with the release of each wake, and of the run before.
        let before = Before(self.0.fetch_add(RUNNING - SCHEDULED, Ordering::AcqRel));
        debug_assert!(before.is_scheduled() && before.0 & (RUNNING | FINISHED) == 0, "{before:?}");
        before
    }

    /// The run ends, and the task waits. If it was scheduled during the run, the caller has its
    /// word again; if not, the task is no longer the caller's.
    pub(super) fn pause(&self) -> Before {
        // Release pairs with the acquire of the next `begin`. Acquire: of a wake during the run.
        let before = Before(self.0.fetch_sub(RUNNING, Ordering::AcqRel));
        debug_assert!(before.0 & (RUNNING | FINISHED) == RUNNING, "{before:?}");
        before
    }

    /// The run ends. The future is gone, and the outcome is there.
    pub(super) fn finish(&self) -> Before {
        // Release pairs with the acquire of the handle: it sees the outcome. Acquire pairs with the
        // release in `set_awaiter`: this run sees the waker.
        let before = Before(self.0.fetch_add(FINISHED - RUNNING, Ordering::AcqRel));
        debug_assert!(before.0 & (RUNNING | FINISHED) == RUNNING, "{before:?}");
        before
    }

    pub(super) fn is_finished(&self) -> bool {
        // Acquire pairs with the release in `finish`: the outcome is seen.
        self.0.load(Ordering::Acquire) & FINISHED != 0
    }

    /// The handle has registered a waker for the run that finishes. None was registered before.
    pub(super) fn set_awaiter(&self) -> Result<(), Finished> {
        self.unless_finished(|now| now | AWAITER).map(drop)
    }

    /// The handle takes the place of its waker back. True if a waker is there.
    pub(super) fn unset_awaiter(&self) -> Result<bool, Finished> {
        if self.0.load(Ordering::Relaxed) & (AWAITER | FINISHED) == 0 {
            return Ok(false); // only the handle sets it
        }
        self.unless_finished(|now| now & !AWAITER).map(Before::has_awaiter)
    }

    /// Drops the handle and its reference; not if the task has finished, because then the outcome
    /// is the handle's. No awaiter is set.
    pub(super) fn drop_handle(&self) -> Result<(), Finished> {
        self.unless_finished(|now| (now & !HANDLE) - REFERENCE).map(drop)
    }

    fn unless_finished(&self, change: impl Fn(usize) -> usize) -> Result<Before, Finished> {
        let change = |now| (now & FINISHED == 0).then(|| change(now));
        // Release pairs with the acquire in `finish`: the run sees the waker that was left.
        // Acquire, in any case: code that finds it finished sees the outcome.
        let changed = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        changed.map(Before).map_err(|_| Finished)
    }

    /// Adds a reference. The caller has one.
    pub(super) fn add_reference(&self) {
        // Relaxed: it is handed on by something that orders.
        if self.0.fetch_add(REFERENCE, Ordering::Relaxed) > TOO_MANY {
            std::process::abort(); // as `Arc` does: the count must not wrap
        }
    }

    /// Drops a reference. True if it was the last.
    #[must_use]
    pub(super) fn drop_reference(&self) -> bool {
        // Release: the caller's uses come before. Acquire: the last one comes after all uses.
        let before = Before(self.0.fetch_sub(REFERENCE, Ordering::AcqRel));
        debug_assert!(before.references() > 0);
        before.references() == 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_a_handle_has_one_reference_in_the_end() {
        let state = State::spawned();
        assert_eq!(state.drop_handle(), Ok(()));
        let before = state.begin();
        assert!(before.is_scheduled() && !before.is_cancelled());
        assert!(!before.has_handle() && !before.has_awaiter());
        assert!(!state.finish().is_scheduled() && state.is_finished());
        assert_eq!(state.wake(0), Woken::Nothing);
        assert!(state.drop_reference());
        let refused = State::refused();
        assert!(refused.is_finished());
        assert_eq!((refused.wake(0), refused.wake(1)), (Woken::Nothing, Woken::Free));
    }

    #[test]
    fn a_task_runs_again_after_each_wake_until_it_finishes() {
        let state = State::spawned();
        let scheduled = (state.wake(0), state.cancel());
        assert_eq!(scheduled, (Woken::Nothing, Woken::Nothing), "it is scheduled");
        let state = State::spawned();
        assert_eq!(state.begin().references(), 2);
        assert_eq!((state.unset_awaiter(), state.set_awaiter()), (Ok(false), Ok(())));
        assert_eq!((state.unset_awaiter(), state.set_awaiter()), (Ok(true), Ok(())));
        assert_eq!(state.wake(0), Woken::Nothing, "it runs");
        assert!(state.pause().is_scheduled(), "it was woken during the run");
        let _ = state.begin();
        assert!(!state.pause().is_scheduled());
        assert_eq!(state.wake(0), Woken::Schedule);
        assert!(!state.begin().is_cancelled() && !state.pause().is_scheduled());
        state.add_reference();
        assert_eq!(state.wake(1), Woken::Schedule);
        let _ = state.begin();
        state.add_reference();
        assert_eq!(state.wake(1), Woken::Nothing, "it runs");
        assert_eq!(state.cancel(), Woken::Nothing);
        let before = state.finish();
        assert!(before.is_cancelled() && before.has_handle() && before.has_awaiter());
        assert_eq!(before.references(), 2);
        assert_eq!((state.set_awaiter(), state.drop_handle()), (Err(Finished), Err(Finished)));
        assert_eq!(state.unset_awaiter(), Err(Finished));
        assert!(!state.drop_reference() && state.drop_reference());
    }
}
