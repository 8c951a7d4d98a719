//! What a wait looks for first: descendants of what it waits for, and in some waits pinned tasks.
//!
//! | the wait | is for | and runs |
//! |---|---|---|
//! | `wait_for_fork` | the second half of a join | what its thief has forked in it |
//! | `wait_for_group` | the tasks of a scope | those in the own queues; if some are pinned, these |
//! | `wait_for_task` | one spawned task | that task |
//! | `wait_for_others` | all workers, or another pool | pinned tasks at once |
//! | `wait_until` | an event that need not come from a task | none |
//!
//! How the worker spends its time otherwise is in `wait.rs`.

use std::ptr::NonNull;

use super::Worker;
use super::wait::Awaits;
use crate::deque::Steal;
use crate::header::{self, Flag, Found, Job};
use crate::primitive::spin_loop;
use crate::tuning::{MOVED_AT_ONCE, SHORT_LOOKS};

impl Worker {
    /// Waits until `fork`, which this worker pushed at `position` of its deque, has run, or takes
    /// it back. Returns true if it was taken back: then the caller runs it.
    // Not inlined: joins share this code.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_fork(&self, fork: &Job, position: i64) -> bool {
        if !self.takes_any_own_task() && self.take_from_below(fork.into(), position) {
            return true;
        }
        for _ in 0..SHORT_LOOKS {
            if fork.latch().is_set() {
                break;
            }
            spin_loop();
        }
        self.help_until(fork.latch(), Awaits::Fork, || self.leapfrog(fork));
        false
    }

    /// Takes back a job from under tasks that the first half of its join has left in the deque,
    /// unless a thief has it. The tasks go back to the deque, as they were ([`Self::put_back`]),
    /// or are set aside if they are many: each join of a deep recursion would move them again.
    fn take_from_below(&self, job: NonNull<Job>, position: i64) -> bool {
        let mut above = Vec::new();
        // Jobs below `position` do not belong to the first half.
        while above.last() != Some(&job) && self.local.deque.bottom() > position {
            let Some(newest) = self.take_newest() else { break };
            above.push(newest.job);
        }
        let is_back = above.last() == Some(&job);
        if is_back {
            above.pop();
        }
        let are_many = above.len() > MOVED_AT_ONCE;
        for job in above.into_iter().rev() {
            // A fork stays in the deque, where its join looks for it: polls may have moved it up.
            // SAFETY: just taken.
            if are_many && !unsafe { header::is_fork(job) } {
                self.set_aside(job);
            } else {
                self.put_back(job);
            }
        }
        is_back
    }

    /// Steals from the thief of `fork` a descendant of that (Wagner and Calder, "Leapfrogging: a
    /// portable technique for implementing efficient futures", PPoPP 1993).
    fn leapfrog(&self, fork: &Job) -> Option<Found> {
        let theft = fork.theft()?;
        let state = self.local.shared.slot(theft.thief);
        let is_wanted = |position| state.lineage.is_descendant(fork, theft, position);
        match state.deque.steal_oldest_if(is_wanted) {
            Steal::Taken(taken) => Some(self.seeker(None).stolen(taken, theft.thief)),
            // If it is closed, this attempt has requested the owner to open it. If the owner is
            // suspended, the wait parks, and the thread that then has the index opens it.
            Steal::Closed | Steal::Lost | Steal::Empty => None,
        }
    }

    /// Waits for the event of a group, such as the tasks of a scope. This worker began to push
    /// tasks of the group when its deque ended at `start`, so most older tasks lie below. If
    /// `has_pinned_tasks`, some of the group's tasks are pinned, and pinned tasks run at once.
    pub(crate) fn wait_for_group(
        &self,
        event: &Flag,
        group: NonNull<()>,
        start: i64,
        has_pinned_tasks: impl Fn() -> bool,
    ) {
        let find = || {
            let in_deque = || self.take_of_group(group, start);
            let aside = || self.take_set_aside(group);
            // What was set aside is older than what is left in a deque of which the oldest is
            // taken.
            let own = if self.local.shared.config.oldest_first {
                aside().or_else(in_deque)
            } else {
                in_deque().or_else(aside)
            };
            own.or_else(|| if has_pinned_tasks() { self.take_pinned() } else { None })
        };
        self.help_until(event, Awaits::Tasks, find);
    }

    /// Takes a task of the group from what this worker has pushed since its deque ended at `start`.
    fn take_of_group(&self, group: NonNull<()>, start: i64) -> Option<Found> {
        while self.local.deque.bottom() > start {
            let Some(next) = self.take_own() else { break };
            // SAFETY: just taken.
            if unsafe { header::group(next.job) } == Some(group) {
                return Some(next);
            }
            // Not of the group. A fork goes back, for the frame that pushed it, and the search
            // ends: what lies below is older. SAFETY: just taken.
            if unsafe { header::is_fork(next.job) } {
                self.put_back(next.job);
                return None;
            }
            self.set_aside(next.job);
        }
        None
    }

    /// Sends a task to the inbox of this worker's index: other workers may take it, and an outer
    /// wait of this one finds it there, if it is for that.
    fn set_aside(&self, job: NonNull<Job>) {
        self.local.has_set_aside.set(true);
        self.local.shared.send_to_inbox(Some(&self.local.wake_token), self.seeker(None).index, job);
    }

    /// True if tasks that were set aside may still wait.
    pub(super) fn has_tasks_aside(&self) -> bool {
        let inbox = || &self.local.shared.slot(self.seeker(None).index.slot()).inbox;
        self.local.has_set_aside.get() && !inbox().is_empty()
    }

    /// Takes a task of the group from those that were set aside. Looks at some of them, and puts
    /// those of other groups behind the rest, so that the next look sees others.
    fn take_set_aside(&self, group: NonNull<()>) -> Option<Found> {
        for _ in 0..MOVED_AT_ONCE {
            if !self.local.has_set_aside.get() {
                break;
            }
            let Some(next) = self.seeker(None).take_from_inbox() else {
                self.local.has_set_aside.set(false);
                break;
            };
            // SAFETY: just taken.
            if unsafe { header::group(next.job) } == Some(group) {
                return Some(next);
            }
            self.set_aside(next.job);
        }
        None
    }

    /// Waits for a task that this worker may have spawned. Runs it whenever it is the newest one of
    /// the deque.
    pub(crate) fn wait_for_task(&self, event: &Flag, job: NonNull<Job>) {
        let find = || {
            let newest = self.take_newest()?;
            if newest.job == job {
                return Some(newest);
            }
            self.put_back(newest.job);
            None
        };
        self.help_until(event, Awaits::Tasks, find);
    }

    /// Waits for an event that need not come from a task.
    pub(crate) fn wait_until(&self, event: &Flag) {
        self.help_until(event, Awaits::Anything, || None);
    }

    /// Waits for an event that other pools, or all workers of this one, bring about. They may wait
    /// for a pinned task of this worker, so pinned tasks run at once.
    pub(crate) fn wait_for_others(&self, event: &Flag) {
        self.help_until(event, Awaits::Tasks, || self.take_pinned());
    }
}
