//! How a worker waits: it runs descendants of what it waits for, or else another thread works under
//! its index.
//!
//! | phase | what | how long |
//! |---|---|---|
//! | look | a join looks at its latch | 8 times |
//! | help | run descendants on top of the waiting frame | while there are any |
//! | spin | look again for descendants | 20 µs if the machine is quiet, or else 200 µs |
//! | pinned tasks | run tasks that only this worker may run | while there are any |
//! | park | block; another thread works under its index | until the event, or a pinned task |
//!
//! Where no task need bring the event (`wait_until`), the wait only spins and parks. Pinned tasks
//! run because descendants may wait for them. If no other thread can be had for the index (the
//! limit of replacements is reached, the pool is closed, or the thread is borrowed), the wait runs
//! any task instead of parking, as rayon's waits do.
//!
//! A wait does not yield: beside other programs, each yield would give one of them a whole time
//! slice (3 ms), and a pool of short tasks would get hardly any time.
//!
//! Apart from pinned tasks and a kept index, only descendants run on top of a waiting frame. So
//! what runs on a thread nests strictly, thread-local scopes of users stay valid, and no other task
//! can want a lock on this thread that the waiting task holds.

use std::cell::Cell;
use std::ptr::NonNull;
use std::time::Duration;

use super::{Role, Worker};
use crate::deque::Steal;
use crate::header::{self, Flag, Found, Job};
use crate::hooks;
use crate::primitive::{Instant, spin_loop};
use crate::shared::index_lock::Idle;
use crate::trace::Event;
use crate::tuning::{SHORT_LOOKS, WAIT_SPIN, WAIT_SPIN_BESIDE_OTHERS};
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Waits until `job`, which this worker pushed to `index`, has run on another worker, or takes
    /// it back. Returns true if it was taken back.
    // Not inlined: joins share this code.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_fork(&self, job: NonNull<Job>, header: &Job, index: i64) -> bool {
        if !self.runs_any_task() && self.take_from_below(job, index) {
            return true;
        }
        for _ in 0..SHORT_LOOKS {
            if header.latch().is_set() {
                break;
            }
            spin_loop();
        }
        self.help_until(header.latch(), Awaits::Tasks, || self.leapfrog(job, header));
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
        let start = Cell::new(start);
        // SAFETY: its callers have just taken the word.
        let is_of_group = |found: &Found| unsafe { header::group(found.job) } == Some(group);
        let find = || {
            let own = if self.deque.may_have(start.get()) { self.take_own() } else { None };
            let own = own.and_then(|own| {
                if is_of_group(&own) {
                    return Some(own);
                }
                // SAFETY: just taken.
                if self.shared.config.oldest_first && !unsafe { header::is_fork(own.job) } {
                    self.shared.inject(own.job);
                    return None;
                }
                self.push_real(own.job);
                self.sort_group(&start, is_of_group)
            });
            own.or_else(|| if has_pinned_tasks() { self.take_pinned() } else { None })
        };
        self.help_until(event, Awaits::Tasks, find);
    }

    /// Takes the newest task of a group from under others that this worker has pushed since its
    /// deque ended at `start`. The others go below the rest of the group, and `start` above them: so
    /// each is moved once, and stays where this worker finds it when it waits for that.
    fn sort_group(&self, start: &Cell<i64>, is_of_group: impl Fn(&Found) -> bool) -> Option<Found> {
        // A deque without positions cannot tell what was pushed in the group.
        if self.shared.config.oldest_first || !self.state().deque.has_bounds() {
            return None;
        }
        let (mut of_group, mut others) = (Vec::new(), Vec::new());
        while self.deque.may_have(start.get())
            && let Some(newest) = self.take_newest()
        {
            let kind = if is_of_group(&newest) { &mut of_group } else { &mut others };
            kind.push(newest.job);
        }
        for job in others.into_iter().rev() {
            start.set(self.push_real(job) + 1);
        }
        for job in of_group.into_iter().rev() {
            self.push_real(job);
        }
        if self.deque.may_have(start.get()) { self.take_newest() } else { None }
    }

    /// Waits for a task that this worker may have spawned. Runs it whenever it is the newest one of
    /// the deque.
    pub(crate) fn wait_for_task(&self, event: &Flag, job: NonNull<Job>) {
        let find = || {
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
        self.help_until(event, Awaits::Anything, || None);
    }

    /// Waits for an event that other pools, or all workers of this one, bring about. They may wait
    /// for a pinned task of this worker, so pinned tasks run at once.
    pub(crate) fn wait_for_others(&self, event: &Flag) {
        self.help_until(event, Awaits::Tasks, || self.take_pinned());
    }

    /// True if a wait for tasks runs its newest task first, whichever it is: that of a borrowed
    /// thread (`with_current_thread`), as in rayon. Inside of another call that may block, it does
    /// as others.
    fn runs_any_task(&self) -> bool {
        self.is_borrowed() && self.away.get().is_none()
    }

    /// Runs what `find` returns until `event`. If `find` returns nothing for a while, this worker
    /// parks until the event, and another thread works under its index.
    fn help_until(&self, event: &Flag, awaits: Awaits, mut find: impl FnMut() -> Option<Found>) {
        if event.is_set() {
            return self.stop_clock_if_borrowed();
        }
        self.shared.abort_if_in_forked_child();
        // A panic would free the waiting frame, and other threads still use what lies in it.
        let abort = AbortOnUnwind("a panic came out of a task");
        // Hooks publish what they have deferred. They have nothing to resume after the wait.
        hooks::pause();
        let paused = self.observer().map(|observer| (observer, observer.pause(self.slot.get())));
        let keeps_index = self.is_borrowed() && awaits == Awaits::Tasks;
        let takes_any = keeps_index && self.runs_any_task();
        // A worker that finds a task at once does not read the clock. After a task that its search
        // has found, it goes on searching, and does not spin again.
        let (mut spins_since, mut has_opened, mut is_traced) = (None, false, false);
        while !event.is_set() {
            let any = if takes_any { self.take_local() } else { None };
            let mut found = any.or_else(&mut find);
            if found.is_some() {
                (spins_since, has_opened) = (None, false);
            }
            // Not earlier: most waits find what they wait for in their own deques.
            if found.is_none() && !std::mem::replace(&mut is_traced, true) {
                self.shared.trace(|| Event::Waits);
            }
            if found.is_none() {
                let spent = spins_since.get_or_insert_with(Instant::now).elapsed();
                if spent < spin_limit(self.shared.machine.is_quiet()) {
                    (0..16).for_each(|_| spin_loop());
                    continue;
                }
                // A guest is not replaced by a thread that searches. So it opens the deque of its
                // thief, which may be suspended, and looks once more.
                if self.role == Role::Guest && !std::mem::replace(&mut has_opened, true) {
                    self.shared.open_deques(&mut Vec::new());
                    continue;
                }
            }
            if awaits == Awaits::Tasks {
                found = found.or_else(|| self.take_pinned());
            }
            if let Some(found) = found.or_else(|| self.park_until(event, awaits, !keeps_index)) {
                self.execute_nested(found);
            }
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
    /// for the index, or only a replacement and not `may_replace`, returns any task instead, once
    /// there is one.
    fn park_until(&self, event: &Flag, awaits: Awaits, may_replace: bool) -> Option<Found> {
        let awaits_tasks = awaits == Awaits::Tasks;
        let away = self.release_index(may_replace);
        if away.has_kept_index() && awaits_tasks {
            drop(away);
            // Inside of another call that may block, the drop has changed nothing: the outer value
            // still counts, so the index is taken back, and released again, by hand.
            self.ensure_index();
            let search = || self.search().run(self.seeker(Some(Idle::InTask)), &|| event.is_set());
            let found = self.take_local().or_else(search);
            self.ensure_index();
            if found.is_none() && self.away.get().is_some() {
                self.release_again();
            }
            return found;
        }
        // `away` takes the index back at the end of this function.
        // If the pool's threads have ended, this one runs what remains.
        let is_left_alone = || self.is_borrowed() && self.shared.closed.is_set();
        let is_called = || awaits_tasks && (self.has_pinned() || is_left_alone());
        self.shared.sleep.parker(self.slot).park(|| event.is_set() || is_called(), None);
        None
    }

    /// Steals from the thief of `job` a fork that it pushed while it runs `job`. Nothing if the thief
    /// has spawned a task there, which need not be a descendant (Wagner and Calder,
    /// "Leapfrogging: a portable technique for implementing efficient futures", PPoPP 1993).
    fn leapfrog(&self, job: NonNull<Job>, header: &Job) -> Option<Found> {
        let thief = header.thief()?;
        let state = self.shared.slot(thief);
        // Checked again when the oldest task is seen. If the thief pushed that task after it had
        // begun another job, the check sees the other job: the acquire of the steal pairs with the
        // release of the push. No other job has this address while a frame waits for this one.
        let taken = match state.deque.steal_oldest_if(|| state.is_running(job)) {
            Steal::Taken(taken) => taken,
            // If it is closed, this attempt has requested the owner to open it. If the owner is
            // suspended, the wait parks, and the thread that then has the index opens it.
            Steal::Closed | Steal::Lost | Steal::Empty => return None,
        };
        Some(self.seeker(None).stolen(taken, thief))
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

/// How long a wait spins before it parks. Longer beside other programs, and where these are not
/// known: a thread that parks there may wait for a time slice when it is to go on.
fn spin_limit(is_quiet: bool) -> Duration {
    if is_quiet { WAIT_SPIN } else { WAIT_SPIN_BESIDE_OTHERS }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_spins_for_20_us_and_beside_other_programs_for_200() {
        assert_eq!(spin_limit(true), Duration::from_micros(20));
        assert_eq!(spin_limit(false), Duration::from_micros(200));
    }
}
