//! How a worker waits: it runs descendants of what it waits for, or else leaves its slot.
//!
//! | phase | what | how long |
//! |---|---|---|
//! | help | run descendants on top of the waiting frame | while there are any |
//! | spin, yield | look again for descendants | about 200 µs on an idle processor |
//! | pinned tasks | run pinned tasks: descendants may wait for them | while there are any |
//! | park | block; a replacement takes the slot | until the event, or a pinned task |
//!
//! At the limit of replacements a worker parks, too, unless it is the last thread of its pool that
//! neither waits nor blocks. That thread runs any ready task on top of its frames: otherwise the
//! pool could deadlock, since tasks of a scope may wait for other tasks.
//!
//! So what runs on a thread nests strictly, and only descendants run on top of a waiting frame.
//! Thread-local scopes of users stay valid. If the waiting task holds a lock, only its descendants
//! can want that lock on this thread.
//!
//! To steal back from a thief what it has forked is leapfrogging (Wagner and Calder, "Leapfrogging:
//! a portable technique for implementing efficient futures", PPoPP 1993). Because a replacement
//! takes the slot, a ready task and an idle processor do not stay apart.

use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};

use super::Worker;
use crate::deque::Steal;
use crate::hooks;
use crate::os;
use crate::primitive::spin_loop;
use crate::scheduler::job::{self, Job, Role};
use crate::scheduler::latch::Flag;
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

/// Spins, then yields, while a waiting worker finds nothing.
struct Backoff {
    began: Instant,
    is_yielding: bool,
    sleeps: u32,
}

/// For how long a waiting worker spins before it yields.
const SPIN: Duration = Duration::from_micros(20);
/// For how long a waiting worker spins and yields before it parks. To wake a replacement and later
/// this worker takes about 100 µs, so to park costs more than a short wait. If a yield gives the
/// processor to another thread, the time is over after fewer attempts.
const PATIENCE: Duration = Duration::from_micros(200);
/// The shortest and the longest sleep of a worker that must not park.
const SLEEPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(10)];

impl Backoff {
    fn new() -> Self {
        Self { began: Instant::now(), is_yielding: false, sleeps: 0 }
    }

    /// Spins or yields once. Returns false if the patience is over.
    fn snooze(&mut self) -> bool {
        let elapsed = self.began.elapsed();
        self.is_yielding = elapsed >= SPIN;
        if self.is_yielding {
            os::yield_now();
        } else {
            (0..16).for_each(|_| spin_loop());
        }
        elapsed < PATIENCE
    }

    /// Sleeps, for longer each time.
    fn sleep(&mut self) {
        thread::sleep((SLEEPS[0] * (1 << self.sleeps.min(8))).min(SLEEPS[1]));
        self.sleeps += 1;
    }
}

impl Worker {
    /// Waits until `job`, which this worker pushed to `index`, has run on another worker, or takes
    /// it back. Returns true if it was taken back.
    // Not inlined: joins share this code.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_fork(&self, job: NonNull<Job>, end: &Flag, index: i64) -> bool {
        if self.take_from_below(job, index) {
            return true;
        }
        self.help_until(end, Stuck::RunsAnything, |by_force| self.steal_back(job, by_force));
        false
    }

    /// Takes back a job from under tasks that the first half of its join has left, unless a thief
    /// has it. The tasks go back to the deque.
    fn take_from_below(&self, job: NonNull<Job>, index: i64) -> bool {
        let (mut above, mut is_back) = (Vec::new(), false);
        // Jobs below `index` do not belong to the first half.
        while !is_back
            && self.deque.bottom() > index
            && let Some(newest) = self.take_newest()
        {
            is_back = newest.job == job;
            above.extend((!is_back).then_some(newest.job));
        }
        above.into_iter().rev().for_each(|job| _ = self.push_real(job));
        is_back
    }

    /// Waits for the event of a group, such as the tasks of a scope. Tasks of the group that this
    /// worker pushed have an index of `start` or above.
    pub(crate) fn wait_for_group(&self, event: &Flag, group: NonNull<()>, start: impl Fn() -> i64) {
        let find = |_: bool| {
            while self.deque.bottom() > start()
                && let Some(own) = self.take_own()
            {
                // SAFETY: just taken.
                if unsafe { job::group(own.job) } == Some(group) {
                    return Some(own);
                }
                // It is no descendant. A fork is taken back by the frame that pushed it.
                // SAFETY: just taken.
                if unsafe { job::role(own.job) } == Role::Fork {
                    self.push_real(own.job);
                    break;
                }
                self.shared.send_back(own.job);
            }
            None
        };
        self.help_until(event, Stuck::RunsAnything, find);
    }

    /// Waits for a task that this worker may have spawned, and runs it if it is the newest one.
    pub(crate) fn wait_for_task(&self, event: &Flag, job: NonNull<Job>) {
        let index = self.deque.bottom();
        let find = |_: bool| {
            let newest = self.take_newest()?;
            if newest.job == job || self.deque.bottom() >= index {
                return Some(newest);
            }
            self.push_real(newest.job);
            None
        };
        self.help_until(event, Stuck::RunsAnything, find);
    }

    /// Waits for an event that no known task brings about.
    pub(crate) fn wait_until(&self, event: &Flag) {
        self.help_until(event, Stuck::Parks, |_| None);
    }

    /// Waits for an event that other pools, or all workers of this one, bring about. They may wait
    /// for a task that only this worker may run. Such tasks run on top.
    pub(crate) fn wait_for_others(&self, event: &Flag) {
        self.help_until(event, Stuck::RunsAnything, |_| self.take_pinned());
    }

    /// Runs what `find` returns until `event`. If `find` returns nothing for a while, this worker
    /// parks until the event, and a replacement takes its slot. The argument of `find` is true if
    /// it may open deques by force.
    fn help_until(&self, event: &Flag, stuck: Stuck, mut find: impl FnMut(bool) -> Option<Found>) {
        if event.is_set() {
            return self.leave_if_borrowed();
        }
        self.shared.abort_if_forked();
        // Other threads refer to the frames below.
        let abort = AbortOnUnwind("a panic came out of a task");
        hooks::pause();
        let paused = self.observer().map(|observer| (observer, observer.pause(self.slot_index())));
        let mut backoff = Backoff::new();
        while !event.is_set() {
            if let Some(found) = find(backoff.is_yielding) {
                self.execute_nested(found);
                backoff = Backoff::new();
                continue;
            }
            if backoff.snooze() {
                continue;
            }
            // The descendants may wait for a task that only this worker may run.
            let runs_pinned = stuck == Stuck::RunsAnything;
            if runs_pinned && let Some(found) = self.take_pinned() {
                self.execute_nested(found);
                backoff = Backoff::new();
                continue;
            }
            let replaced = self.replace();
            if runs_pinned && replaced.leaves_no_thread {
                drop(replaced);
                // Any ready task, since no other thread would run it.
                if let Some(found) = self.find_any() {
                    self.execute_nested(found);
                    backoff = Backoff::new();
                } else {
                    backoff.sleep();
                }
                continue;
            }
            let has_pinned = || runs_pinned && self.has_pinned();
            self.slot().parker.park(|| event.is_set() || has_pinned());
            backoff = Backoff::new();
        }
        if let Some((observer, paused)) = paused {
            observer.resume(self.slot_index(), paused);
        }
        self.leave_if_borrowed();
        abort.disarm();
    }

    /// Steals the second half of a join that the thief of `job` has forked while it runs `job`.
    fn steal_back(&self, job: NonNull<Job>, by_force: bool) -> Option<Found> {
        let shared = &self.shared;
        let thief = (0..shared.slots_taken()).find(|&slot| shared.slot(slot).is_running(job))?;
        // Checked again when the oldest task is seen. If the thief pushed that task after it had
        // begun another job, the check sees the other job: the acquire of the steal pairs with the
        // release of the push. No other job has this address while a frame waits for this one.
        let slot = shared.slot(thief);
        let taken = match slot.deque.steal_oldest_if(|| slot.is_running(job)) {
            Steal::Taken(taken) => taken,
            Steal::Closed if by_force => {
                // The thief was requested to open its deque, and may be suspended.
                shared.open_deques(&mut Vec::new());
                return None;
            }
            Steal::Closed | Steal::Lost | Steal::Empty => return None,
        };
        self.record_steal_from(thief);
        // SAFETY: just taken.
        if unsafe { job::role(taken) } == Role::Fork {
            return Some(Found { job: taken, from: thief });
        }
        self.shared.send_back(taken);
        None
    }

    /// Runs a task on top of the waiting frame. Afterwards the worker that waits for the job below
    /// may steal back from this one again.
    fn execute_nested(&self, found: Found) {
        let before = self.slot().running();
        self.execute(found);
        self.slot().set_running(before);
        hooks::executed();
    }
}

/// What a waiting worker does if there is no replacement, and all other threads of its pool wait or
/// block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stuck {
    /// Runs any ready task on top: the event may depend on it.
    RunsAnything,
    /// Parks: the event does not depend on a task, and may come late.
    Parks,
}
