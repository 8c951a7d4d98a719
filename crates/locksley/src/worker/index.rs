//! A thread that blocks gives its index away, and takes it back afterwards.
//!
//! | | the thread that blocks | the thread that gets the index |
//! |---|---|---|
//! | its index is claimed | passes it on (also if it only polls) | goes on with its task |
//! | else | gives it to a replacement | searches for tasks |
//! | no replacement can be had | keeps it, and runs any task meanwhile | |
//!
//! When its event has come, the thread takes the index back at once if the holder has no task. Else
//! it waits until the holder's present task ends or blocks. If the holder makes no progress
//! meanwhile, it may wait for a lock that this thread holds. So after
//! [`NO_PROGRESS`](crate::tuning::NO_PROGRESS) the thread goes on without the index. Where the
//! system does not tell of progress, it does so after that time in any case.
//!
//! Two running tasks have the same index in three cases only: the thread went on after
//! `NO_PROGRESS`; the pool is closed; a call inside of [`blocking`](crate::blocking()) forks tasks
//! and runs them itself.

use super::{Role, Worker};
use crate::hooks;
use crate::idle::Activity;
use crate::numbers::Slot;
use crate::os::Progress;
use crate::primitive::Instant;
use crate::shared::index_lock::Idle;
use crate::trace::Event;
use crate::tuning::NO_PROGRESS;

/// While this value lives, the worker's thread may block: it has released its index. Dropping it
/// takes the index back.
pub(crate) struct Away<'w> {
    worker: &'w Worker,
    state: ReleaseOutcome,
    /// True if the time of the worker was charged to code that is not the pool's.
    was_elsewhere: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseOutcome {
    /// Another thread has the index, or the thread is a guest, whose index has no lock.
    Released,
    /// The thread was away already. Then this value has no effect.
    Nested,
    /// The thread was away already, with the outcome `Kept`.
    NestedInKept,
    /// There was no replacement. The thread has kept the index as an idle holder, and any thread
    /// that claims the index takes it.
    Kept,
}

impl Worker {
    /// Gives the index away until the value that is returned is dropped: to a thread that has
    /// claimed it, or to a replacement if `may_replace`.
    pub(crate) fn release_index(&self, may_replace: bool) -> Away<'_> {
        // Only this thread can publish what hooks have deferred on it.
        hooks::pause();
        hooks::flush();
        self.deque.open();
        let was_elsewhere = self.state().is_elsewhere();
        if let Some(outer) = self.away.get() {
            let state = if outer == ReleaseOutcome::Kept {
                ReleaseOutcome::NestedInKept
            } else {
                ReleaseOutcome::Nested
            };
            return Away { worker: self, state, was_elsewhere };
        }
        let state = self.give_index_away(may_replace);
        self.away.set(Some(state));
        self.set_activity(Activity::Sleeps, was_elsewhere);
        self.shared.trace(|| Event::Blocks);
        Away { worker: self, state, was_elsewhere }
    }

    fn give_index_away(&self, may_replace: bool) -> ReleaseOutcome {
        if self.role == Role::Guest {
            return ReleaseOutcome::Released;
        }
        let (index, lock) = (self.index.get(), self.shared.index_lock(self.index.get()));
        // Each round that fails means that a thread has claimed the index meanwhile.
        loop {
            // The thread may be an idle holder already: exit hooks run after `end_with_index`.
            if !lock.end_idle(self.slot) && !lock.is_held_by(self.slot) {
                return ReleaseOutcome::Released; // another thread has the index already
            }
            // Inside of its task, a replacement stays taken.
            if self.grant_index(|| ()) {
                return ReleaseOutcome::Released;
            }
            let replacement = may_replace.then(|| self.shared.take_replacement(index)).flatten();
            match replacement {
                Some(replacement) if self.shared.hand_off(replacement, index, self.slot) => {
                    return ReleaseOutcome::Released;
                }
                None if lock.begin_idle(self.slot, Idle::InTask) => return ReleaseOutcome::Kept,
                _ => {}
            }
        }
    }

    /// Passes the index on to the thread that has waited for it longest, if there is one. Then
    /// calls `lose` while this thread still has the index.
    fn grant_index(&self, lose: impl FnOnce()) -> bool {
        let next = self.shared.index_lock(self.index.get()).grant_next(self.slot, lose);
        next.map(|slot| self.shared.unpark(slot)).is_some()
    }

    /// Between two tasks: if a thread waits for the index, passes it on. Returns true if this
    /// thread still has it.
    #[inline]
    pub(super) fn serve_claim(&self) -> bool {
        let lock = self.shared.index_lock(self.index.get());
        if lock.is_held_undisputed(self.slot) {
            return true;
        }
        // A replacement that has lost the index may have been given it again, as idle.
        lock.end_idle(self.slot);
        let lose = || self.shared.free_replacement_in(self.slot);
        lock.has_task(self.slot) && !self.grant_index(lose)
    }

    /// True if this thread has the index, and another one waits for it.
    pub(super) fn is_index_claimed(&self) -> bool {
        if self.role == Role::Guest {
            return false; // its index has no lock
        }
        let lock = self.shared.index_lock(self.index.get());
        lock.has_task(self.slot) && !lock.is_held_undisputed(self.slot)
    }

    /// Takes the index back, unless this thread holds it, before it runs a task. May fail: see
    /// [`Self::take_index_back`].
    pub(super) fn ensure_index(&self) {
        if self.role == Role::Guest {
            return;
        }
        let lock = self.shared.index_lock(self.index.get());
        // (In a forked child, no other thread of the pool exists.)
        if !lock.end_idle(self.slot)
            && !lock.is_held_by(self.slot)
            && !self.shared.is_in_forked_child()
        {
            self.take_index_back(true);
        }
    }

    /// Runs a task of the pool. Inside of a call that may block, the thread takes the index back
    /// for it, and gives it away again.
    pub(super) fn under_index(&self, task: impl FnOnce()) {
        if self.away.get().is_none() {
            return task();
        }
        let was_elsewhere = self.state().is_elsewhere();
        self.ensure_index();
        self.away.set(None);
        self.set_activity(Activity::Works, false);
        task();
        self.release_again();
        self.set_activity(Activity::Sleeps, was_elsewhere);
    }

    /// Inside of a call that may block: gives the index away again.
    pub(super) fn release_again(&self) {
        self.away.set(Some(self.give_index_away(true)));
    }

    /// The thread runs no more tasks under the index: if it still has it, passes it on or becomes
    /// an idle holder.
    pub(super) fn end_with_index(&self) {
        let lock = self.shared.index_lock(self.index.get());
        while self.serve_claim() && !lock.begin_idle(self.slot, Idle::WithoutTask) {}
    }

    /// Takes the index back. Returns without it if the pool is closed; and, if the thread has a
    /// task, if the holder makes no progress.
    pub(super) fn take_index_back(&self, has_task: bool) {
        let lock = self.shared.index_lock(self.index.get());
        self.is_without_index.set(false);
        if let Some(loser) = lock.claim(self.slot) {
            if loser.idle == Idle::WithoutTask {
                self.shared.free_replacement_in(loser.slot);
            }
            // It may sleep, and has to see that it has lost the index.
            return self.shared.unpark(loser.slot);
        }
        let is_over = || lock.is_held_by(self.slot) || self.shared.closed.is_set();
        let mut seen = self.look_at(lock.holder());
        while !is_over() {
            self.shared.sleep.parker(self.slot).park(is_over, has_task.then_some(NO_PROGRESS));
            let now = self.look_at(lock.holder());
            if now.holder == self.slot {
                break;
            }
            if now.has_advanced_since(&seen) {
                seen = now;
            } else if has_task && now.at - seen.at >= NO_PROGRESS {
                break;
            }
        }
        // `withdraw` fails if the thread has got the index just now.
        let is_withdrawn = !lock.is_held_by(self.slot) && lock.withdraw(self.slot);
        self.is_without_index.set(is_withdrawn);
    }

    fn look_at(&self, holder: Slot) -> Look {
        let progress = self.shared.slot(holder).progress();
        Look { holder, progress, at: Instant::now() }
    }

    fn set_activity(&self, activity: Activity, is_elsewhere: bool) {
        self.state().set_activity(activity);
        if is_elsewhere {
            self.state().charge_elsewhere();
        }
    }
}

/// What one thread sees of the holder of its index.
struct Look {
    holder: Slot,
    /// `None` where the system does not tell: then the holder counts as blocked.
    progress: Option<Progress>,
    at: Instant,
}

impl Look {
    /// True if the holder is another one, has used processor time, or could use some.
    fn has_advanced_since(&self, earlier: &Self) -> bool {
        let is_runnable = self.progress.is_some_and(|progress| !progress.is_blocked);
        let time = |look: &Self| look.progress.map(|progress| progress.processor_time);
        self.holder != earlier.holder || is_runnable || time(self) != time(earlier)
    }
}

impl Away<'_> {
    /// True if no other thread got the index, so that this one is to run tasks.
    pub(super) fn has_kept_index(&self) -> bool {
        matches!(self.state, ReleaseOutcome::Kept | ReleaseOutcome::NestedInKept)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        let worker = self.worker;
        if matches!(self.state, ReleaseOutcome::Nested | ReleaseOutcome::NestedInKept) {
            return;
        }
        worker.ensure_index();
        worker.away.set(None);
        worker.shared.trace(|| Event::Unparks);
        worker.set_activity(Activity::Works, self.was_elsewhere);
    }
}
