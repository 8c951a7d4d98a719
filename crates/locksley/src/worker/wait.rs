//! How a worker waits: it runs descendants of what it waits for, or else another thread works under
//! its index.
//!
//! | phase | what | how long |
//! |---|---|---|
//! | look | a join looks at its latch | 8 times |
//! | help | run descendants on top of the waiting frame (`descendants.rs`) | while there are any |
//! | spin | look again for descendants | 20 µs if the machine is quiet, or else 200 µs |
//! | open | a guest opens all deques, and looks again | once after each task |
//! | pinned tasks | run tasks that only this worker may run | while there are any |
//! | park | block; another thread works under its index | until the event, or a pinned task |
//!
//! Where no task need bring the event (`wait_until`), the wait runs no task: it spins and parks.
//! Pinned tasks run because descendants may wait for them. A wait for tasks runs any task instead
//! of parking, as rayon's waits do, if no other thread gets the index: the limit of replacements is
//! reached, no thread can be started, the pool is closed, or the thread is borrowed.
//!
//! A wait does not yield: beside other programs, each yield would give one of them a whole time
//! slice (3 ms), and a pool of short tasks would get hardly any time.
//!
//! Except for pinned tasks, and where the index is kept, only descendants run on top of a waiting
//! frame. So what runs on a thread nests strictly, thread-local scopes of users stay valid, and no
//! other task can want a lock on this thread that the waiting task holds.

use std::time::Duration;

use super::{Role, Worker};
use crate::header::{Flag, Found};
use crate::hooks;
use crate::primitive::{Instant, spin_loop};
use crate::shared::index_lock::Idle;
use crate::trace::Event;
use crate::tuning::{WAIT_SPIN, WAIT_SPIN_BESIDE_OTHERS};
use crate::unwind::AbortOnUnwind;

/// What the event of a wait depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaits {
    /// A fork. What is found descends from it. The rest is as for tasks.
    Fork,
    /// Tasks. The wait also runs pinned tasks, and any task if this thread keeps the index.
    Tasks,
    /// Anything, perhaps no task. The wait runs none.
    Anything,
}

impl Worker {
    /// Runs what `find` returns until `event`. If `find` returns nothing for a while, this worker
    /// parks until the event, and another thread works under its index.
    pub(super) fn help_until(
        &self,
        event: &Flag,
        awaits: Awaits,
        mut find: impl FnMut() -> Option<Found>,
    ) {
        if event.is_set() {
            return self.stop_clock_if_borrowed();
        }
        self.local.shared.abort_if_in_forked_child();
        // A panic would free the waiting frame, and other threads still use what lies in it.
        let abort = AbortOnUnwind("a panic came out of a task");
        // Hooks publish what they have deferred. They have nothing to resume after the wait.
        hooks::pause();
        let paused =
            self.observer().map(|observer| (observer, observer.pause(self.local.slot.get())));
        let awaits_tasks = awaits != Awaits::Anything;
        let takes_any = awaits_tasks && self.takes_any_own_task();
        // Most waits find what they wait for in their own deques: they read no clock, and the trace
        // does not have them.
        let (mut spins_since, mut is_traced) = (None, false);
        // A guest opens deques once after each task.
        let mut has_opened = false;
        while !event.is_set() {
            let any = if takes_any { self.take_any() } else { None };
            let is_descendant = any.is_none() && awaits == Awaits::Fork;
            if let Some(found) = any.or_else(&mut find) {
                (spins_since, has_opened) = (None, false);
                if is_descendant {
                    self.execute_descendant(found);
                } else {
                    self.execute_unrelated(found);
                }
                continue;
            }
            if !std::mem::replace(&mut is_traced, true) {
                self.local.shared.trace(|| Event::Waits);
            }
            let spent = spins_since.get_or_insert_with(Instant::now).elapsed();
            if spent < spin_limit(self.local.shared.machine.is_quiet()) {
                (0..16).for_each(|_| spin_loop());
            } else if self.local.role == Role::Guest && !std::mem::replace(&mut has_opened, true) {
                // It is not replaced by a thread that searches. So it opens all deques, with that
                // of its thief, which may be suspended, and looks once more.
                self.local.shared.open_deques(&mut Vec::new());
            } else if let Some(pinned) = awaits_tasks.then(|| self.take_pinned()).flatten() {
                self.execute_unrelated(pinned);
            } else {
                // After this it spins again only if `find` has returned a task.
                self.park_until(event, awaits_tasks);
            }
        }
        if is_traced {
            self.local.shared.trace(|| Event::Resumes);
        }
        if let Some((observer, paused)) = paused {
            observer.resume(self.local.slot.get(), paused);
        }
        self.stop_clock_if_borrowed();
        abort.disarm();
    }

    /// True if a wait for tasks takes the next task of this worker's own queues, whichever it is:
    /// on a borrowed thread (`with_current_thread`), as in rayon. Not inside of
    /// [`blocking`](crate::blocking()).
    pub(super) fn takes_any_own_task(&self) -> bool {
        self.is_borrowed() && self.local.away.get().is_none()
    }

    /// Parks until the event, or until there is a pinned task that the wait runs. A wait for tasks
    /// that has kept the index searches for any task instead, and runs it.
    fn park_until(&self, event: &Flag, awaits_tasks: bool) {
        // A borrowed thread keeps its index while it waits for tasks, as in rayon.
        let away = self.release_index(!(self.is_borrowed() && awaits_tasks));
        if awaits_tasks && away.has_kept_index() {
            drop(away);
            return self.run_any_until(event);
        }
        // If the pool's threads have ended, a borrowed one runs what remains.
        let is_left_alone = || self.is_borrowed() && self.local.shared.closed.is_set();
        let is_called = || awaits_tasks && (self.has_pinned() || is_left_alone());
        self.local
            .shared
            .sleep
            .parker(self.local.slot)
            .park(|| event.is_set() || is_called(), None);
        drop(away); // takes the index back
    }

    /// Runs one task, whichever can be found first, unless the event comes before.
    fn run_any_until(&self, event: &Flag) {
        self.regain_index();
        let search = || self.search().run(self.seeker(Some(Idle::InTask)), &|| event.is_set());
        let found = self.take_any().or_else(search);
        // Another thread may have taken it during the search.
        self.regain_index();
        match found {
            Some(found) => self.execute_unrelated(found),
            // Inside of another call that may block.
            None if self.local.away.get().is_some() => self.release_again(),
            None => {}
        }
    }
}

/// How long a wait spins before it parks. Longer beside other programs, and where these are not
/// known: a thread that parks there may wait for a time slice when it is to go on.
fn spin_limit(is_quiet: bool) -> Duration {
    if is_quiet { WAIT_SPIN } else { WAIT_SPIN_BESIDE_OTHERS }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Its event comes while it searches for any task.
    #[test]
    fn after_a_wait_without_a_replacement_the_worker_is_not_away() {
        let only = || crate::Pool::builder().workers(1).replacements(0).own_threads_only();
        let (pool, other) = (only().build().unwrap(), only().build().unwrap());
        let is_away = pool.install(|worker| {
            other.install(|_| std::thread::sleep(Duration::from_millis(5)));
            worker.local.away.get().is_some()
        });
        assert!(!is_away);
    }

    #[test]
    fn a_wait_spins_for_20_us_and_beside_other_programs_for_200() {
        assert_eq!(spin_limit(true), Duration::from_micros(20));
        assert_eq!(spin_limit(false), Duration::from_micros(200));
    }
}
