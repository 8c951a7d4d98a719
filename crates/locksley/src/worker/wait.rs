//! How a worker waits: it runs descendants of what it waits for, or else another thread works under
//! its index.
//!
//! | phase | what | how long |
//! |---|---|---|
//! | look | a join looks at its latch | 8 times |
//! | help | run descendants on top of the waiting frame | while there are any |
//! | spin, yield | look again for descendants | about 200 µs on a quiet machine |
//! | spin | the same beside other programs | 200 µs |
//! | pinned tasks | run tasks that only this worker may run | while there are any |
//! | park | block; another thread works under its index | until the event, or a pinned task |
//!
//! Where no task need bring the event (`wait_until`), the wait only spins, yields and parks. Pinned
//! tasks run because descendants may wait for them. If no other thread can be had for the
//! index (the limit of replacements is reached, or the pool is closed), the wait runs any task
//! instead of parking, as rayon's waits do.
//!
//! So what runs on a thread nests strictly, and thread-local scopes of users stay valid. Apart from
//! pinned tasks and that case, only descendants run on top of a waiting frame. No other task can
//! then want a lock on this thread that the waiting task holds.

use std::ptr::NonNull;
use std::time::Duration;

use super::Worker;
use crate::deque::Steal;
use crate::header::{self, Flag, Found, Job};
use crate::hooks;
use crate::os;
use crate::primitive::{Instant, spin_loop};
use crate::shared::index_lock::Idle;
use crate::trace::Event;
use crate::tuning::{SHORT_LOOKS, WAIT_SPIN, WAIT_SPIN_AND_YIELD};
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Waits until `job`, which this worker pushed to `index`, has run on another worker, or takes
    /// it back. Returns true if it was taken back.
    // Not inlined: joins share this code.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_fork(&self, job: NonNull<Job>, header: &Job, index: i64) -> bool {
        if self.take_from_below(job, index) {
            return true;
        }
        for _ in 0..SHORT_LOOKS {
            if header.latch().is_set() {
                break;
            }
            spin_loop();
        }
        self.help_until(header.latch(), Awaits::Tasks, |by_force| {
            self.leapfrog(job, header, by_force)
        });
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
        let find = |_: bool| {
            while self.deque.may_have(start)
                && let Some(own) = self.take_own()
            {
                // SAFETY: just taken.
                if unsafe { header::group(own.job) } == Some(group) {
                    return Some(own);
                }
                // It is no descendant. A fork stays here, for the frame that pushed it. So does any
                // task if positions in the deque do not tell which were pushed in the group.
                // Another task goes to the injector, for other workers. SAFETY: just taken.
                let is_fork = unsafe { header::is_fork(own.job) };
                if is_fork || !self.state().deque.has_bounds() {
                    self.push_real(own.job);
                    break;
                }
                self.shared.inject(own.job);
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
    /// parks until the event, and another thread works under its index. The argument of `find` is
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
        let paused = self.observer().map(|observer| (observer, observer.pause(self.slot.get())));
        let (mut backoff, mut is_traced) = (Backoff::default(), false);
        while !event.is_set() {
            let mut found = find(backoff.has_spun);
            // Not earlier: most waits find what they wait for in their own deques.
            if found.is_none() && !std::mem::replace(&mut is_traced, true) {
                self.shared.trace(|| Event::Waits);
            }
            if found.is_none() && backoff.snooze(self.shared.machine.is_quiet()) {
                continue;
            }
            if awaits == Awaits::Tasks {
                found = found.or_else(|| self.take_pinned());
            }
            if let Some(found) = found.or_else(|| self.park_until(event, awaits)) {
                self.execute_nested(found);
            }
            backoff = Backoff::default();
        }
        if is_traced {
            self.shared.trace(|| Event::Resumes);
        }
        if let Some((observer, paused)) = paused {
            observer.resume(self.slot.get(), paused);
        }
        self.stop_clock_if_borrowed();
        abort.disarm();
    }

    /// Parks until the event, or a pinned task that the wait runs. If no other thread can be had
    /// for the index, returns any task instead, once there is one.
    fn park_until(&self, event: &Flag, awaits: Awaits) -> Option<Found> {
        // A borrowed thread runs tasks while it waits, as rayon's does: no other thread gets its
        // index, for which the program's hooks would be called.
        let away = self.leave_index(!self.is_borrowed());
        let awaits_tasks = awaits == Awaits::Tasks;
        if away.has_kept_index() && awaits_tasks {
            drop(away);
            // Inside of another call that may block, the drop has changed nothing.
            self.ensure_index();
            let search = || self.search().run(self.seeker(Some(Idle::InTask)), &|| event.is_set());
            let found = self.take_local().or_else(search);
            self.ensure_index();
            if found.is_none() && self.away.get().is_some() {
                self.leave_again();
            }
            return found;
        }
        // `away` takes the index back at the end of this function.
        // If the pool's threads end, this one runs what they have left.
        let is_left_alone = || self.is_borrowed() && self.shared.closed.is_set();
        let is_called = || awaits_tasks && (self.has_pinned() || is_left_alone());
        self.shared.sleep.parker(self.slot).park(|| event.is_set() || is_called(), None);
        None
    }

    /// Steals from the thief of `job` a fork that it pushed while it runs `job` (Wagner and Calder,
    /// "Leapfrogging: a portable technique for implementing efficient futures", PPoPP 1993).
    fn leapfrog(&self, job: NonNull<Job>, header: &Job, by_force: bool) -> Option<Found> {
        let thief = header.thief()?;
        let state = self.shared.slot(thief);
        // Checked again when the oldest task is seen. If the thief pushed that task after it had
        // begun another job, the check sees the other job: the acquire of the steal pairs with the
        // release of the push. No other job has this address while a frame waits for this one.
        let taken = match state.deque.steal_oldest_if(|| state.is_running(job)) {
            Steal::Taken(taken) => taken,
            Steal::Closed if by_force => {
                // While a deque is closed, its owner pushes without fences, and thieves take
                // nothing. This attempt has requested the owner to open the deque, but the owner
                // may be suspended. This opens all deques: one heavy barrier is enough for all.
                self.shared.open_deques(&mut Vec::new());
                return None;
            }
            Steal::Closed | Steal::Lost | Steal::Empty => return None,
        };
        // SAFETY: just taken.
        if unsafe { header::is_fork(taken) } {
            return Some(self.seeker(None).stolen(taken, thief));
        }
        // A spawned task, which need not be a descendant.
        self.shared.inject(taken);
        None
    }
}

/// What the event of a wait depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// Tasks. The wait also runs pinned tasks, and any task if this thread keeps the index.
    Tasks,
    /// Anything, perhaps no task. The wait runs none.
    Anything,
}

/// Spins, then yields, while a waiting worker finds nothing. Only spins while other programs want
/// processors: each yield would give one of them a whole time slice (3 ms), and a pool of short
/// tasks would get hardly any time. Record: `xeon-2/2026-11-28-corun-targets.json`.
#[derive(Default)]
struct Backoff {
    /// When the first pause began. A worker that finds a task at once does not read the clock.
    began: Option<Instant>,
    /// True if [`WAIT_SPIN`] had passed at the last pause.
    has_spun: bool,
}

impl Backoff {
    /// Spins or yields once. Returns false once `WAIT_SPIN_AND_YIELD` has passed: the worker parks
    /// if it finds nothing then.
    fn snooze(&mut self, is_quiet: bool) -> bool {
        let elapsed = self.began.get_or_insert_with(Instant::now).elapsed();
        self.has_spun = elapsed >= WAIT_SPIN;
        let (yields, is_patient) = Self::pause_after(elapsed, is_quiet);
        if yields {
            os::yield_now();
        } else {
            (0..16).for_each(|_| spin_loop());
        }
        is_patient
    }

    /// Whether to yield, instead of spinning, so long after the first pause; and whether to pause
    /// again after that.
    fn pause_after(elapsed: Duration, is_quiet: bool) -> (bool, bool) {
        (is_quiet && elapsed >= WAIT_SPIN, elapsed < WAIT_SPIN_AND_YIELD)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_spins_for_20_us_and_yields_until_it_parks_after_200_and_beside_others_only_spins() {
        let expected = [
            (0, false, true),
            (19_999, false, true),
            (20_000, true, true),
            (199_999, true, true),
            (200_000, true, false),
            (u64::MAX, true, false),
        ];
        for (nanos, yields, is_patient) in expected {
            let pause = |is_quiet| Backoff::pause_after(Duration::from_nanos(nanos), is_quiet);
            assert_eq!(pause(true), (yields, is_patient), "{nanos} ns");
            assert_eq!(pause(false), (false, is_patient), "{nanos} ns");
        }
    }

    #[test]
    fn a_wait_is_patient_until_it_parks() {
        let hour = Duration::from_secs(3600);
        // No time has passed, however long this thread is suspended.
        let mut backoff = Backoff { began: Some(Instant::now() + hour), ..Backoff::default() };
        assert!(!backoff.has_spun && backoff.snooze(true));
        assert!(!backoff.has_spun);
        backoff.began = Instant::now().checked_sub(WAIT_SPIN_AND_YIELD);
        assert!(!backoff.snooze(true) && backoff.has_spun);
    }
}
