//! A worker's loop: run own work, else search.

use std::ptr;

use super::Worker;
use crate::hooks;
use crate::os;
use crate::scheduler::job;
use crate::scheduler::latch::Flag;
use crate::scheduler::search::Found;
use crate::trace::Event;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Runs tasks until the pool is closed.
    pub(crate) fn work_until_closed(&self) {
        self.work_until(&self.shared.closed, || ());
        // A borrowed thread may wait for what is left: tasks of a scope keep no pool open.
        self.deque.open();
    }

    /// Runs own tasks, else what a search finds, until `done`. Calls `refresh` where a replacement
    /// may have been assigned to another worker.
    pub(crate) fn work_until(&self, done: &Flag, refresh: impl Fn()) {
        // Tasks catch their own panics.
        let abort = AbortOnUnwind("a panic came out of a task");
        while !done.is_set() {
            refresh();
            if let Some(own) = self.next_own() {
                refresh();
                self.execute(own);
                hooks::executed();
            } else if let Some(found) = self.find_other(done) {
                refresh();
                self.execute_traced(found);
                hooks::executed();
            }
        }
        abort.disarm();
    }

    fn next_own(&self) -> Option<Found> {
        let pinned = if self.runs_pinned_next.take() { self.take_pinned() } else { None };
        pinned.or_else(|| self.take_own())
    }

    fn find_other(&self, done: &Flag) -> Option<Found> {
        self.take_addressed_in_turn().or_else(|| {
            self.deque.open();
            self.search().run(self, done)
        })
    }

    /// Runs a task that is not from the worker's own deque.
    pub(super) fn execute_traced(&self, found: Found) {
        self.shared.trace(|| Event::TaskBegins(found.from));
        self.execute(found);
        self.shared.trace(|| Event::TaskEnds);
    }

    /// Runs a task.
    pub(crate) fn execute(&self, found: Found) {
        self.counters().tasks.increment();
        self.slot().set_running(ptr::null_mut());
        let generation = os::generation();
        // SAFETY: jobs in deques and inboxes are alive until they have run; only this worker has
        // taken this one, from where `found` says.
        unsafe { job::execute(found.job, self, found.from) };
        if generation != os::generation() {
            self.shared.abort_in_forked_child();
        }
    }

    /// Records that a stolen job begins. If this worker has no other tasks, the worker that waits
    /// for the job may steal back from it, until this worker begins another job.
    pub(crate) fn begin_stolen(&self, job: ptr::NonNull<job::Job>) {
        if !self.has_own_tasks() {
            self.slot().set_running(job.as_ptr());
        }
    }

    /// Counts a task that was taken from another worker.
    pub(crate) fn record_steal_from(&self, victim: usize) {
        self.counters().steals.increment();
        self.shared.trace(|| Event::Steals { victim, left: self.shared.slot(victim).deque_len() });
        let place = self.shared.place_of(victim);
        self.counters()
            .out_of_place
            .add(u64::from(place.is_some_and(|place| place != self.place())));
    }

    /// Called when control returns to the program, which may never come back to the pool. If the
    /// thread is borrowed, the pool is not charged for its time any more.
    pub(crate) fn stop_clock_if_borrowed(&self) {
        if self.is_borrowed && !self.is_external {
            hooks::run_idle();
            self.slot().charge_elsewhere();
        }
    }
}
