//! A thread that blocks gives its index away, and takes it back afterwards.
//!
//! The lock of the index (`shared/index_lock.rs`; read that first) says which thread has it: the
//! *holder*. A thread whose event has come *claims* the index, and waits until the holder passes it
//! on. A holder without a task is *idle*: any thread that wants the index takes it.
//!
//! | a thread | its index is claimed | not claimed |
//! |---|---|---|
//! | blocks | passes it on | gives it to a replacement, which searches for tasks |
//! | blocks, without a replacement | passes it on | keeps it, idle; a wait for tasks runs any |
//! | polls (`run_one`) or ends a task | passes it on | keeps it |
//!
//! When its event has come, the thread takes the index back at once if the holder is idle. Else it
//! waits until the holder passes the index on. If the holder makes no progress meanwhile, it may
//! wait for a lock that this thread holds. So after [`NO_PROGRESS`](crate::tuning::NO_PROGRESS) the
//! thread goes on without the index. Where the system does not tell of progress, it does so after
//! that time in any case.
//!
//! Two running tasks have the same index in three cases only: the thread went on after
//! `NO_PROGRESS`; the pool is closed; a call inside of [`blocking`](crate::blocking()) forks tasks
//! and runs them itself.

use std::time::Duration;

use super::{Role, Worker};
use crate::hooks;
use crate::idle::Activity;
use crate::numbers::Slot;
use crate::os::Progress;
use crate::primitive::Instant;
use crate::shared::index_lock::{Idle, IndexLock};
use crate::trace::Event;
use crate::tuning::NO_PROGRESS;

/// While this value lives, the worker's thread may block: it has released its index. Dropping it
/// takes the index back, which may last until another task ends, or fail.
pub(crate) struct Away<'w> {
    worker: &'w Worker,
    /// False if the thread was away already. Then this value has no effect.
    is_outermost: bool,
    /// True if the time of the worker was charged to code that is not the pool's.
    was_elsewhere: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseOutcome {
    /// Another thread has the index, or the thread is a guest, whose index has no lock.
    Released,
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
        self.local.deque.open();
        let was_elsewhere = self.state().is_elsewhere();
        let is_outermost = self.local.away.get().is_none();
        if is_outermost {
            self.local.away.set(Some(self.give_index_away(may_replace)));
            self.set_activity(Activity::Sleeps, was_elsewhere);
            self.local.shared.trace(|| Event::Blocks);
        }
        Away { worker: self, is_outermost, was_elsewhere }
    }

    /// The lock of this thread's index. `None` for a guest, whose index has none.
    fn index_lock(&self) -> Option<&IndexLock> {
        (self.local.role != Role::Guest)
            .then(|| self.local.shared.index_lock(self.local.index.get()))
    }

    fn give_index_away(&self, may_replace: bool) -> ReleaseOutcome {
        let Some(lock) = self.index_lock() else { return ReleaseOutcome::Released };
        // Each round that fails means that a thread has claimed the index meanwhile.
        loop {
            // The thread may be an idle holder already: exit hooks run after `end_with_index`.
            if !lock.resume(self.local.slot) {
                return ReleaseOutcome::Released; // another thread has the index already
            }
            // Nothing to do before: a replacement is not free, since it is inside of its task.
            if self.grant_to_next(lock, || ()) {
                return ReleaseOutcome::Released;
            }
            let index = self.local.index.get();
            let replacement =
                may_replace.then(|| self.local.shared.take_replacement(index)).flatten();
            match replacement {
                Some(replacement)
                    if self.local.shared.hand_off(replacement, index, self.local.slot) =>
                {
                    return ReleaseOutcome::Released;
                }
                None if lock.begin_idle(self.local.slot, Idle::InTask) => {
                    return ReleaseOutcome::Kept;
                }
                _ => {}
            }
        }
    }

    /// If threads wait for the index: calls `before_passing` while this thread still has it, passes
    /// it to the one that has waited longest, and returns true.
    fn grant_to_next(&self, lock: &IndexLock, before_passing: impl FnOnce()) -> bool {
        let next = lock.grant_next(self.local.slot, before_passing);
        next.map(|slot| self.local.shared.unpark(slot)).is_some()
    }

    /// Between two tasks of a worker's loop: if a thread waits for the index, passes it on. Returns
    /// true if this thread still has it.
    #[inline]
    pub(super) fn still_has_index(&self) -> bool {
        let lock = self.local.shared.index_lock(self.local.index.get());
        if lock.is_held_unclaimed(self.local.slot) {
            return true;
        }
        // A replacement that has lost the index may have been given it again, as idle.
        lock.end_idle(self.local.slot);
        let free = || self.local.shared.free_replacement_in(self.local.slot);
        lock.is_held_busy(self.local.slot) && !self.grant_to_next(lock, free)
    }

    /// Inside of a task that polls: if a thread waits for the index, passes it on. (The task of
    /// that thread may be what the code polls for.) Then, or if this thread had gone on without the
    /// index, tries to take it back. Returns false if it goes on without: then it must not search
    /// for tasks.
    pub(super) fn yield_index_if_claimed(&self) -> bool {
        let Some(lock) = self.index_lock() else { return true };
        // Inside of a call that may block, `under_index` takes it back for a task.
        if self.local.away.get().is_some() || lock.is_held_unclaimed(self.local.slot) {
            return true;
        }
        let paused =
            self.observer().map(|observer| (observer, observer.pause(self.local.slot.get())));
        drop(self.release_index(false));
        if let Some((observer, paused)) = paused {
            observer.resume(self.local.slot.get(), paused);
        }
        lock.is_held_by(self.local.slot) || self.local.shared.closed.is_set()
    }

    /// Takes the index back, unless this thread holds it, before it runs a task. May fail: see
    /// [`Self::take_index_back`].
    pub(super) fn regain_index(&self) {
        // (In a forked child, no other thread of the pool exists.)
        let is_away = self.index_lock().is_some_and(|lock| !lock.resume(self.local.slot));
        if is_away && !self.local.shared.is_in_forked_child() {
            self.take_index_back(Some(NO_PROGRESS));
        }
    }

    /// Runs a task of the pool. Inside of a call that may block, the thread takes the index back
    /// for it, and gives it away again.
    pub(super) fn under_index(&self, task: impl FnOnce()) {
        if self.local.away.get().is_none() {
            return task();
        }
        let was_elsewhere = self.state().is_elsewhere();
        self.regain_index();
        self.local.away.set(None);
        self.set_activity(Activity::Works, false);
        task();
        self.release_again();
        self.set_activity(Activity::Sleeps, was_elsewhere);
    }

    /// Inside of a call that may block: gives the index away again.
    pub(super) fn release_again(&self) {
        self.local.away.set(Some(self.give_index_away(true)));
    }

    /// The thread runs no more tasks under the index: if it still has it, passes it on or becomes
    /// an idle holder.
    pub(super) fn end_with_index(&self) {
        let lock = self.local.shared.index_lock(self.local.index.get());
        while self.still_has_index() && !lock.begin_idle(self.local.slot, Idle::WithoutTask) {}
    }

    /// Takes the index back. Returns without it if the pool is closed; and, with `patience`, if the
    /// holder makes no progress for so long.
    pub(super) fn take_index_back(&self, patience: Option<Duration>) {
        let lock = self.local.shared.index_lock(self.local.index.get());
        self.local.is_without_index.set(false);
        if let Some(loser) = lock.take_or_claim(self.local.slot) {
            if loser.idle == Idle::WithoutTask {
                self.local.shared.free_replacement_in(loser.slot);
            }
            // It may sleep, and has to see that it has lost the index.
            return self.local.shared.unpark(loser.slot);
        }
        let is_over = || lock.is_held_by(self.local.slot) || self.local.shared.closed.is_set();
        let mut seen = self.look_at(lock.holder());
        while !is_over() {
            self.local.shared.sleep.parker(self.local.slot).park(is_over, patience);
            let now = self.look_at(lock.holder());
            if now.holder == self.local.slot {
                break;
            }
            if now.has_advanced_since(&seen) {
                seen = now;
            } else if patience.is_some_and(|patience| now.at - seen.at >= patience) {
                break;
            }
        }
        // `withdraw` fails if the thread has got the index just now.
        let is_withdrawn = !lock.is_held_by(self.local.slot) && lock.withdraw(self.local.slot);
        self.local.is_without_index.set(is_withdrawn);
    }

    fn look_at(&self, holder: Slot) -> Look {
        let progress = self.local.shared.slot(holder).progress();
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
    /// True if the holder has changed, has used processor time, or could use some.
    fn has_advanced_since(&self, earlier: &Self) -> bool {
        let is_runnable = self.progress.is_some_and(|progress| !progress.is_blocked);
        let time = |look: &Self| look.progress.map(|progress| progress.processor_time);
        self.holder != earlier.holder || is_runnable || time(self) != time(earlier)
    }
}

impl Away<'_> {
    /// True if no other thread got the index, so that this one is to run tasks.
    pub(super) fn has_kept_index(&self) -> bool {
        self.worker.local.away.get() == Some(ReleaseOutcome::Kept)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        let worker = self.worker;
        if !self.is_outermost {
            return;
        }
        worker.regain_index();
        worker.local.away.set(None);
        worker.local.shared.trace(|| Event::Unparks);
        worker.set_activity(Activity::Works, self.was_elsewhere);
    }
}
