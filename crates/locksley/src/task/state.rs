//! A task's state: some facts, and the number of references, in one word.
//!
//! | bit or bits | fact        | set by                                     | taken back by                        |
//! |-------------|-------------|--------------------------------------------|--------------------------------------|
//! | 0           | `SCHEDULED` | who wakes or cancels it; spawning          | who runs it, when it begins          |
//! | 1           | `RUNNING`   | who runs it, when it begins                | the same, when it pauses or finishes |
//! | 2           | `FINISHED`  | who runs it, when the outcome is there     | nobody                               |
//! | 3           | `CANCELLED` | who cancels it                             | nobody                               |
//! | 4           | `HANDLE`    | spawning                                   | the handle, when it goes before the end |
//! | 5           | `AWAITER`   | the handle, when it has left a waker       | the handle, before the end           |
//! | 6           | `FOLLOWED`  | spawning, where who spawns is metered      | nobody                               |
//! | 7 and up    | references  | the pool's, the handle's, one for each waker |                                    |
//!
//! *Scheduled and not running*: the task's word is in one queue, or in the hand of the one thread that is about to put
//! it there, or has just taken it out. *Scheduled and running*: it was woken meanwhile, and whoever runs it will see to it.

use std::fmt;

use crate::primitive::{AtomicUsize, Ordering};

const SCHEDULED: usize = 1;
const RUNNING: usize = 1 << 1;
const FINISHED: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const HANDLE: usize = 1 << 4;
const AWAITER: usize = 1 << 5;
const FOLLOWED: usize = 1 << 6;
const REFERENCE: usize = 1 << 7;

/// So many references that more of them can only be forgotten ones.
const TOO_MANY: usize = usize::MAX / 2;

pub(super) struct State(AtomicUsize);

/// The word as it was before a change.
#[derive(Clone, Copy, PartialEq, Eq)]
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

    /// Nobody had the task's word, and there was something left to run.
    fn was_waiting(self) -> bool {
        self.0 & (SCHEDULED | RUNNING | FINISHED) == 0
    }

    fn references(self) -> usize {
        self.0 / REFERENCE
    }
}

impl fmt::Debug for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            ["scheduled", "running", "finished", "cancelled", "handle", "awaiter", "followed"];
        let facts = names.iter().enumerate().filter(|&(bit, _)| self.0 >> bit & 1 == 1);
        f.debug_set().entries(facts.map(|(_, name)| name)).entry(&self.references()).finish()
    }
}

/// What is to be done after a waker was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Woken {
    /// The caller puts the task's word into a queue.
    Schedule,
    /// Nothing: somebody else sees to it, or there is nothing to wake.
    Nothing,
    /// This was the last reference.
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

    /// A task that never ran and never will. The one reference is the handle's.
    pub(super) fn stillborn() -> Self {
        Self(AtomicUsize::new(CANCELLED | FINISHED | HANDLE | REFERENCE))
    }

    /// From now on somebody meters it. Nobody else knows it yet.
    pub(super) fn is_to_be_followed(&self) {
        // Relaxed: it is handed on by something that orders.
        self.0.fetch_or(FOLLOWED, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_followed(&self) -> bool {
        if cfg!(loom) {
            return false; // models follow nothing, and have a load less to explore
        }
        // Relaxed, as above.
        self.0.load(Ordering::Relaxed) & FOLLOWED != 0
    }

    /// Somebody wakes it. Says whether the caller puts its word into a queue.
    #[must_use]
    pub(super) fn wake(&self) -> bool {
        // Relaxed: after the end there is nothing to hand over.
        if self.0.load(Ordering::Relaxed) & FINISHED != 0 {
            return false;
        }
        // AcqRel, whatever is found: what the waker did is seen by the run that follows (`begin`, or, if it is running,
        // `pause` and then `begin`).
        Before(self.0.fetch_or(SCHEDULED, Ordering::AcqRel)).was_waiting()
    }

    /// The same, and the caller's reference goes.
    pub(super) fn wake_and_drop(&self) -> Woken {
        let mut before = self.0.load(Ordering::Relaxed);
        loop {
            let after = (before | SCHEDULED) - REFERENCE;
            // AcqRel as in `wake`, and as in `drop_reference`.
            match self.0.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if Before(before).was_waiting() => return Woken::Schedule,
                Ok(_) if Before(before).references() == 1 => return Woken::Free,
                Ok(_) => return Woken::Nothing,
                Err(now) => before = now,
            }
        }
    }

    /// Somebody does not want it any more. Says whether the caller puts its word into a queue.
    #[must_use]
    pub(super) fn cancel(&self) -> bool {
        // AcqRel as in `wake`.
        Before(self.0.fetch_or(SCHEDULED | CANCELLED, Ordering::AcqRel)).was_waiting()
    }

    /// Its word was taken out of a queue by the caller, who runs it now.
    pub(super) fn begin(&self) -> Before {
        // Acquire pairs with the release of those who woke it, and of who ran it before.
        let before = Before(self.0.fetch_add(RUNNING - SCHEDULED, Ordering::AcqRel));
        debug_assert!(before.is_scheduled() && before.0 & (RUNNING | FINISHED) == 0, "{before:?}");
        before
    }

    /// It waits. If it was scheduled meanwhile, the caller has its word again; if not, the caller has nothing of it any more.
    pub(super) fn pause(&self) -> Before {
        // Release pairs with the acquire of who begins next. Acquire: of whoever woke it meanwhile.
        let before = Before(self.0.fetch_sub(RUNNING, Ordering::AcqRel));
        debug_assert!(before.0 & (RUNNING | FINISHED) == RUNNING, "{before:?}");
        before
    }

    /// The future is gone, and the outcome is there.
    pub(super) fn finish(&self) -> Before {
        // Release pairs with the acquire of the handle: the outcome is seen. Acquire pairs with the release in
        // `set_awaiter`: the waker is seen.
        let before = Before(self.0.fetch_add(FINISHED - RUNNING, Ordering::AcqRel));
        debug_assert!(before.0 & (RUNNING | FINISHED) == RUNNING, "{before:?}");
        before
    }

    pub(super) fn is_finished(&self) -> bool {
        // Acquire pairs with the release in `finish`: the outcome is seen.
        self.0.load(Ordering::Acquire) & FINISHED != 0
    }

    /// The handle has left a waker, for whoever finishes the task. None was there.
    pub(super) fn set_awaiter(&self) -> Result<(), Finished> {
        self.unless_finished(|now| now | AWAITER).map(drop)
    }

    /// The handle takes the waker back, if there is one. Says whether there was.
    pub(super) fn unset_awaiter(&self) -> Result<bool, Finished> {
        if self.0.load(Ordering::Relaxed) & (AWAITER | FINISHED) == 0 {
            return Ok(false); // only the handle sets it
        }
        self.unless_finished(|now| now & !AWAITER).map(Before::has_awaiter)
    }

    /// The handle goes, and its reference with it; not if the task has finished, whose outcome then is the handle's. No awaiter
    /// is set.
    pub(super) fn drop_handle(&self) -> Result<(), Finished> {
        self.unless_finished(|now| (now & !HANDLE) - REFERENCE).map(drop)
    }

    fn unless_finished(&self, change: impl Fn(usize) -> usize) -> Result<Before, Finished> {
        // Acquire, in any case: who finds it finished sees the outcome.
        let mut before = self.0.load(Ordering::Acquire);
        while before & FINISHED == 0 {
            let after = change(before);
            // Release pairs with the acquire in `finish`: the waker that was left is seen.
            match self.0.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(Before(before)),
                Err(now) => before = now,
            }
        }
        Err(Finished)
    }

    /// One more reference, made from one that there is.
    pub(super) fn add_reference(&self) {
        // Relaxed: it is handed on by something that orders.
        if self.0.fetch_add(REFERENCE, Ordering::Relaxed) > TOO_MANY {
            std::process::abort(); // as `Arc` does: so many were forgotten, and one more could make it none
        }
    }

    /// One reference less. Says whether it was the last.
    #[must_use]
    pub(super) fn drop_reference(&self) -> bool {
        // Release: our uses come before. Acquire: the last one has seen those of all.
        let before = Before(self.0.fetch_sub(REFERENCE, Ordering::AcqRel));
        debug_assert!(before.references() > 0);
        before.references() == 1
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Before(self.0.load(Ordering::Relaxed)).fmt(f)
    }
}
