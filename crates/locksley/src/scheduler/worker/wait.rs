//! How a worker waits: it runs what the awaited task has forked, and else leaves its slot.
//!
//! | phase | what | how long |
//! |---|---|---|
//! | help | run descendants of what is awaited, on top of the waiting frame | while there are any |
//! | spin, yield | look again for descendants | about 60 µs on a free processor |
//! | pinned tasks | run tasks that only this worker may run: what is awaited may wait for one | while there are any |
//! | park | block; a replacement worker takes the slot | until the event, or a pinned task |
//!
//! At the limit of replacements a worker parks all the same, but for the last thread of its pool
//! that does not wait or block: instead of parking, that one runs whatever is ready, on top of its
//! frames. Otherwise the pool would stand still, since waits for tasks of a scope may depend on
//! others.
//!
//! What runs on a thread therefore nests strictly, and only descendants of what a frame waits for
//! run on top of it: thread-local scopes of users stay valid, and a lock that the waiting task
//! holds is wanted there by nothing but its own descendants. Helping a thief with what it has
//! forked is leapfrogging (Wagner and Calder, "Leapfrogging: a portable technique for implementing
//! efficient futures", PPoPP 1993); that a replacement takes the slot keeps a ready task and an
//! idle processor from staying apart.

use std::ptr::NonNull;
use std::thread;
use std::time::Duration;

use super::Worker;
use crate::deque::Steal;
use crate::hooks;
use crate::os;
use crate::primitive::spin_loop;
use crate::scheduler::job::{self, Job, Role};
use crate::scheduler::latch::Flag;
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

/// How long a waiting worker has looked in vain.
#[derive(Default)]
struct Patience(u32);

/// The shortest and the longest timed park of a worker that must not park.
const TIMED_PARKS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(10)];

impl Patience {
    const SPINS: u32 = 64;
    const YIELDS: u32 = 128;

    /// Whether it has looked in vain for long.
    fn is_short(&self) -> bool {
        self.0 > Self::SPINS
    }

    /// Waits a little; false if that was done often enough.
    fn wait(&mut self) -> bool {
        self.0 += 1;
        match self.0 {
            ..Self::SPINS => (0..16).for_each(|_| spin_loop()),
            Self::SPINS..Self::YIELDS => os::yield_now(),
            _ => return false,
        }
        true
    }

    /// Sleeps, for longer each time.
    fn timed_park(&self) {
        let timed_parks = self.0 - Self::YIELDS;
        thread::sleep((TIMED_PARKS[0] * (1 << timed_parks.min(8))).min(TIMED_PARKS[1]));
    }
}

impl Worker {
    /// Waits until `job`, which was pushed here at `index`, has run elsewhere, or takes it back.
    /// Says whether it was taken back.
    // Once for all joins, and not in each.
    #[cold]
    #[inline(never)]
    pub(crate) fn recover(&self, job: NonNull<Job>, end: &Flag, index: i64) -> bool {
        if self.take_from_below(job, index) {
            return true;
        }
        let find = |insists: bool| self.steal_back(job, insists).map_or(Help::Nothing, Help::Run);
        self.help_until(end, Stuck::RunsAnything, find);
        false
    }

    /// Takes back a job that lies under tasks which the first half of its join has left, if no
    /// thief has it. The tasks stay where all workers can take them.
    fn take_from_below(&self, job: NonNull<Job>, index: i64) -> bool {
        let (mut above, mut is_back) = (Vec::new(), false);
        // What lies deeper does not belong to the first half.
        while !is_back
            && self.deque_end() > index
            && let Some(newest) = self.take_newest()
        {
            is_back = newest.job == job;
            above.extend((!is_back).then_some(newest.job));
        }
        above.into_iter().rev().for_each(|job| _ = self.push_real(job));
        is_back
    }

    /// Waits for the event of a group: the tasks of a scope, or the intervals of a root, of which
    /// those pushed here lie from `start` on.
    pub(crate) fn wait_for_group(&self, event: &Flag, group: NonNull<()>, start: impl Fn() -> i64) {
        let find = |_: bool| {
            while self.deque_end() > start()
                && let Some(own) = self.take_own()
            {
                // SAFETY: just taken.
                if unsafe { job::group(own.job) } == Some(group) {
                    return Help::Run(own);
                }
                if !self.leave_to_others(own.job) {
                    break;
                }
            }
            Help::Nothing
        };
        self.help_until(event, Stuck::RunsAnything, find);
    }

    /// Waits for a task that was spawned here, maybe as the newest one, and runs it if it is.
    pub(crate) fn wait_for_task(&self, event: &Flag, job: NonNull<Job>) {
        let index = self.deque_end();
        let find = |_: bool| match self.take_newest() {
            Some(newest) if newest.job == job || self.deque_end() >= index => Help::Run(newest),
            Some(other) => {
                self.push_real(other.job);
                Help::Nothing
            }
            None => Help::Nothing,
        };
        self.help_until(event, Stuck::RunsAnything, find);
    }

    /// Waits for something of which no task is known.
    pub(crate) fn wait_until(&self, event: &Flag) {
        self.help_until(event, Stuck::Parks, |_| Help::Nothing);
    }

    /// Waits for what other pools, or all workers of this one, do. They may wait in their turn for
    /// a task that only this worker may run; such tasks run on top.
    pub(crate) fn wait_for_others(&self, event: &Flag) {
        let find = |_: bool| self.take_pinned().map_or(Help::Nothing, Help::Run);
        self.help_until(event, Stuck::RunsAnything, find);
    }

    /// Runs what `find` brings until `event`. If it brings nothing for a while, this worker parks
    /// until the event, and a replacement takes its slot.
    fn help_until(&self, event: &Flag, stuck: Stuck, mut find: impl FnMut(bool) -> Help) {
        if event.is_set() {
            return self.settle_borrowed();
        }
        if self.shared.is_lost() {
            self.shared.end_of_the_lost();
        }
        // Other threads point into the frames below.
        let abort = AbortOnUnwind("a panic came out of a task");
        hooks::pause();
        let paused = self.observer().map(|observer| (observer, observer.pause(self.slot_index())));
        let mut patience = Patience::default();
        while !event.is_set() {
            match find(patience.is_short()) {
                Help::Run(found) => {
                    self.execute_below(found);
                    hooks::executed();
                    patience = Patience::default();
                }
                Help::Nothing if patience.wait() => {}
                Help::Nothing => {
                    // What is awaited may wait for a task that only this worker may run.
                    let runs_pinned = stuck == Stuck::RunsAnything;
                    if runs_pinned && let Some(found) = self.take_pinned() {
                        self.execute_below(found);
                        patience = Patience::default();
                        continue;
                    }
                    let replaced = self.replace();
                    if runs_pinned && replaced.leaves_no_thread() {
                        drop(replaced);
                        if self.run_anything() {
                            patience = Patience::default();
                        } else {
                            patience.timed_park();
                        }
                        continue;
                    }
                    let has_pinned = || runs_pinned && self.has_pinned();
                    self.slot().parker().park(|| event.is_set() || has_pinned());
                    patience = Patience::default();
                }
            }
        }
        if let Some((observer, paused)) = paused {
            observer.resume(self.slot_index(), paused);
        }
        self.settle_borrowed();
        abort.disarm();
    }

    /// Leaves a task that lies in the way to others. Not a fork: that lies below what is waited
    /// for, in a deque that cannot tell.
    fn leave_to_others(&self, task: NonNull<Job>) -> bool {
        // SAFETY: just taken.
        let is_fork = unsafe { job::role(task) } == Role::Fork;
        if is_fork {
            self.push_real(task);
        } else {
            self.shared.send_back(task);
        }
        !is_fork
    }

    /// The second half of a join that the thief of `job` has forked while it runs `job`.
    fn steal_back(&self, job: NonNull<Job>, insists: bool) -> Option<Found> {
        let shared = &self.shared;
        let thief = (0..shared.slots_taken()).find(|&slot| shared.slot(slot).runs(job))?;
        // Asked again when the oldest task is seen: what the thief pushed after it had gone on to
        // something else is seen together with that (the acquire of the steal pairs with the
        // release of the push). A job's address is its own while a frame waits for it.
        let taken = match shared.slot(thief).steal_oldest_if(|slot| slot.runs(job)) {
            Steal::Taken(taken) => taken,
            Steal::Kept if insists => {
                // The thief has been asked to open its deque, and may be suspended.
                shared.open_deques(&mut Vec::new());
                return None;
            }
            Steal::Kept | Steal::Lost | Steal::Empty => return None,
        };
        self.record_steal_from(thief);
        // SAFETY: just taken.
        if unsafe { job::role(taken) } == Role::Fork {
            return Some(Found { job: taken, from: thief });
        }
        self.shared.send_back(taken);
        None
    }

    /// Runs any task on top of the waiting frame, if there is one: no other thread would.
    fn run_anything(&self) -> bool {
        let found = self.take_local().or_else(|| self.search.borrow_mut().look_once(self));
        let is_any = found.is_some();
        if let Some(found) = found {
            self.execute_below(found);
            hooks::executed();
        }
        is_any
    }

    /// Runs a descendant of what this worker waits for: the worker that waits for the task below
    /// may go on to steal it back.
    fn execute_below(&self, found: Found) {
        let before = self.slot().running();
        self.execute(found);
        self.slot().now_runs(before);
    }
}

/// What a worker does that waits in vain, if there is no replacement and all other threads of its
/// pool wait, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stuck {
    /// Whatever is ready, on top: what it waits for may wait for that.
    RunsAnything,
    /// It waits for something that is no task, and may wait for long.
    Parks,
}

/// What a waiting worker has found.
enum Help {
    /// A descendant of what it waits for.
    Run(Found),
    Nothing,
}
