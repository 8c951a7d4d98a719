//! How a worker waits: it runs descendants of what it waits for, or else is replaced.
//!
//! | phase | what | how long |
//! |---|---|---|
//! | look | a join looks at its latch | 8 times |
//! | help | run descendants on top of the waiting frame | while there are any |
//! | spin, yield | look again for descendants | about 200 µs on an idle processor |
//! | pinned tasks | run tasks that only this worker may run | while there are any |
//! | park | block; a replacement works under its index | until the event, or a pinned task |
//!
//! Pinned tasks run because descendants may wait for them. At the limit of replacements a worker
//! parks, too, unless it is the *last thread*: all other threads of its pool wait or block. The
//! last thread runs any ready task on top of its frames, since the event may depend on any task. So
//! does a thread that has parked at the limit for a second, since the task that it waits for may be
//! ready in the deque of a thread that blocks; and a borrowed thread after its pool has closed,
//! since the other threads end.
//!
//! So what runs on a thread nests strictly, and thread-local scopes of users stay valid. Apart from
//! pinned tasks and these cases, only descendants run on top of a waiting frame. No other task can
//! then want a lock on this thread that the waiting task holds.
//!
//! A ready task and an idle processor do not stay apart, because a replacement works meanwhile.

use std::ptr::NonNull;
use std::time::Duration;

use super::Worker;
use super::backoff::Backoff;
use crate::deque::Steal;
use crate::hooks;
use crate::primitive::{Instant, spin_loop};
use crate::scheduler::job::{self, Job};
use crate::scheduler::latch::Flag;
use crate::scheduler::search::Found;
use crate::trace::Event;
use crate::unwind::AbortOnUnwind;

/// After so long at the limit of replacements, a wait runs any task.
const LAST_RESORT: Duration = Duration::from_secs(1);
/// How many times a join looks whether its stolen half has ended, before it leapfrogs.
const LOOKS: u32 = 8;

impl Worker {
    /// Waits until `job`, which this worker pushed to `index`, has run on another worker, or takes
    /// it back. Returns true if it was taken back.
    // Not inlined: joins share this code.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_fork(&self, job: NonNull<Job>, latch: &Flag, index: i64) -> bool {
        if self.take_from_below(job, index) {
            return true;
        }
        // A short half is about to end, and a steal from its thief would take the thief's cache
        // lines: loops of 4 µs took 1.2 times as long without this.
        for _ in 0..LOOKS {
            if latch.is_set() {
                break;
            }
            spin_loop();
        }
        self.help_until(latch, Awaits::Tasks, |by_force| self.leapfrog(job, by_force));
        false
    }

    /// Takes back a job from under tasks that the first half of its join has left in the deque,
    /// unless a thief has it. The tasks go back to the deque, as they were ([`Self::push_real`]).
    fn take_from_below(&self, job: NonNull<Job>, index: i64) -> bool {
        let mut above = Vec::new();
        // Jobs below `index` do not belong to the first half.
        while above.last() != Some(&job)
            && self.deque.may_have(index)
            && let Some(newest) = self.take_newest()
        {
            above.push(newest.job);
        }
        let is_back = above.pop_if(|last| *last == job).is_some();
        for job in above.into_iter().rev() {
            let _ = self.push_real(job);
        }
        is_back
    }

    /// Waits for the event of a group, such as the tasks of a scope. Tasks of the group that this
    /// worker pushed have an index of `start` or above. After tasks below `start` have been taken,
    /// a task of the group may push to a lower index, so `start` is called for each search. If
    /// `has_pinned_tasks`, some of the group's tasks are pinned, and pinned tasks run at once.
    pub(crate) fn wait_for_group(
        &self,
        event: &Flag,
        group: NonNull<()>,
        start: impl Fn() -> i64,
        has_pinned_tasks: impl Fn() -> bool,
    ) {
        let find = |_: bool| {
            while self.deque.may_have(start())
                && let Some(own) = self.take_own()
            {
                // SAFETY: just taken.
                if unsafe { job::group(own.job) } == Some(group) {
                    return Some(own);
                }
                // It is no descendant. A fork stays here, for the frame that pushed it. Another
                // task goes to the injector, for other workers.
                // SAFETY: just taken.
                let is_fork = unsafe { job::is_fork(own.job) };
                if is_fork || !self.slot().deque.has_bounds() {
                    self.push_real(own.job);
                    break;
                }
                self.shared.send_back(own.job);
            }
            if has_pinned_tasks() { self.take_pinned() } else { None }
        };
        self.help_until(event, Awaits::Tasks, find);
    }

    /// Waits for a task that this worker may have spawned. Runs it whenever it is the newest one of
    /// the deque.
    pub(crate) fn wait_for_task(&self, event: &Flag, job: NonNull<Job>) {
        let find = |_: bool| {
            let newest = self.take_newest()?;
            if newest.job == job {
                return Some(newest);
            }
            self.push_real(newest.job);
            None
        };
        self.help_until(event, Awaits::Tasks, find);
    }

    /// Waits for an event that need not come from a task.
    pub(crate) fn wait_until(&self, event: &Flag) {
        self.help_until(event, Awaits::Anything, |_| None);
    }

    /// Waits for an event that other pools, or all workers of this one, bring about. They may wait
    /// for a pinned task of this worker, so pinned tasks run at once.
    pub(crate) fn wait_for_others(&self, event: &Flag) {
        self.help_until(event, Awaits::Tasks, |_| self.take_pinned());
    }

    /// Runs what `find` returns until `event`. If `find` returns nothing for a while, this worker
    /// parks until the event, and a replacement works under its index. The argument of `find` is
    /// true if it may open deques by force.
    fn help_until(
        &self,
        event: &Flag,
        awaits: Awaits,
        mut find: impl FnMut(bool) -> Option<Found>,
    ) {
        if event.is_set() {
            return self.stop_clock_if_borrowed();
        }
        self.shared.abort_if_in_forked_child();
        // A panic would free the waiting frame, and other threads still use what lies in it.
        let abort = AbortOnUnwind("a panic came out of a task");
        // Hooks publish what they have deferred. They have nothing to resume after the wait.
        hooks::pause();
        let paused = self.observer().map(|observer| (observer, observer.pause(self.slot_index())));
        let (mut backoff, mut is_traced) = (Backoff::default(), false);
        let mut at_limit = Duration::ZERO;
        while !event.is_set() {
            let mut found = find(backoff.is_yielding);
            // Not earlier: most waits find what they wait for in their own deques.
            if found.is_none() && !std::mem::replace(&mut is_traced, true) {
                self.shared.trace(|| Event::Waits);
            }
            if found.is_none() && backoff.snooze() {
                continue;
            }
            if awaits == Awaits::Tasks {
                found = found.or_else(|| self.take_pinned());
            }
            if found.is_none() && !self.try_park(event, awaits, &mut at_limit) {
                found = self.find_any();
                at_limit = Duration::ZERO;
                if found.is_none() {
                    backoff.sleep();
                    continue;
                }
            }
            if let Some(found) = found {
                self.execute_nested(found);
            }
            backoff = Backoff::default();
        }
        if is_traced {
            self.shared.trace(|| Event::Resumes);
        }
        if let Some((observer, paused)) = paused {
            observer.resume(self.slot_index(), paused);
        }
        self.stop_clock_if_borrowed();
        abort.disarm();
    }

    /// Parks until the event, or a pinned task that the wait runs. Returns false if the event may
    /// depend on a task that this thread has to run. `at_limit` is for how long the wait has parked
    /// at the limit of replacements.
    fn try_park(&self, event: &Flag, awaits: Awaits, at_limit: &mut Duration) -> bool {
        // A replacement has the slot until this value is dropped.
        let replaced = self.replace();
        let parker = &self.slot().parker;
        if awaits == Awaits::Anything {
            parker.park(|| event.is_set(), None);
            return true;
        }
        let is_left_alone = || self.is_borrowed && self.shared.closed.is_set();
        if replaced.is_last_thread || is_left_alone() {
            return false;
        }
        let is_over = || event.is_set() || self.has_pinned() || is_left_alone();
        if !replaced.is_at_limit() {
            parker.park(is_over, None);
            return true;
        }
        let began = Instant::now();
        parker.park(is_over, Some(LAST_RESORT.saturating_sub(*at_limit)));
        *at_limit += began.elapsed();
        is_over() || *at_limit < LAST_RESORT
    }

    /// Steals from the thief of `job` a fork that it pushed while it runs `job` (Wagner and Calder,
    /// "Leapfrogging: a portable technique for implementing efficient futures", PPoPP 1993).
    fn leapfrog(&self, job: NonNull<Job>, by_force: bool) -> Option<Found> {
        let shared = &self.shared;
        let thief = (0..shared.slots_taken()).find(|&slot| shared.slot(slot).is_running(job))?;
        // Checked again when the oldest task is seen. If the thief pushed that task after it had
        // begun another job, the check sees the other job: the acquire of the steal pairs with the
        // release of the push. No other job has this address while a frame waits for this one.
        let slot = shared.slot(thief);
        let taken = match slot.deque.steal_oldest_if(|| slot.is_running(job)) {
            Steal::Taken(taken) => taken,
            Steal::Closed if by_force => {
                // While a deque is closed, its owner pushes without fences, and thieves take
                // nothing. This attempt has requested the owner to open the deque, but the owner
                // may be suspended. This opens all deques: one heavy barrier is enough for all.
                shared.open_deques(&mut Vec::new());
                return None;
            }
            Steal::Closed | Steal::Lost | Steal::Empty => return None,
        };
        // SAFETY: just taken.
        if unsafe { job::is_fork(taken) } {
            self.record_steal_from(thief);
            return Some(Found { job: taken, from: thief });
        }
        // A spawned task, which need not be a descendant.
        self.shared.send_back(taken);
        None
    }

    /// Runs a task on top of another one. Afterwards the worker that waits for the job of that one
    /// may leapfrog from this worker again.
    pub(super) fn execute_nested(&self, found: Found) {
        let before = self.slot().running();
        let run = if found.from == self.slot_index { Self::execute } else { Self::execute_traced };
        run(self, found);
        self.slot().set_running(before);
        hooks::executed();
    }
}

/// What the event of a wait depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// Tasks. The wait also runs pinned tasks, and any task if this thread has to.
    Tasks,
    /// Anything, perhaps no task, and it may come late. The wait parks if it finds nothing.
    Anything,
}
