//! A worker's loop.

use std::ptr;

use super::Worker;
use crate::deque::Closable as _;
use crate::hooks;
use crate::os;
use crate::scheduler::job;
use crate::scheduler::latch::Flag;
use crate::scheduler::search::Found;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Runs this worker on the calling thread until its pool is closed.
    pub(crate) fn serve(&self) {
        self.as_current(|| self.work_until_closed());
    }

    /// Runs tasks until the pool is closed.
    pub(crate) fn work_until_closed(&self) {
        self.work_until(self.shared.closed(), || ());
    }

    /// Runs own tasks, or else what a search brings, until `done`. Calls `between` before each.
    pub(crate) fn work_until(&self, done: &Flag, between: impl Fn()) {
        // Tasks do not unwind: their panics are caught.
        let abort = AbortOnUnwind("a panic came out of a task");
        while !done.is_set() {
            between();
            if let Some(found) = self.next(done) {
                between();
                self.execute(found);
                hooks::executed();
            }
        }
        abort.disarm();
    }

    fn next(&self, done: &Flag) -> Option<Found> {
        let pinned_tasks = if self.owes_pinned.take() { self.take_pinned() } else { None };
        let found =
            pinned_tasks.or_else(|| self.take_own()).or_else(|| self.take_addressed_in_turn());
        found.or_else(|| {
            self.deque.open();
            self.search.borrow_mut().run(self, done)
        })
    }

    /// Runs a task.
    pub(crate) fn execute(&self, found: Found) {
        self.counters().tasks.increment();
        self.slot().now_runs(ptr::null_mut());
        let generation = os::generation();
        // SAFETY: jobs in deques and inboxes are alive until they have run, and this one was taken
        // by this worker alone, from where `found` says.
        unsafe { job::execute(found.job, self, found.from) };
        if generation != os::generation() {
            self.shared.end_of_the_lost();
        }
    }

    /// A stolen job begins. If this worker has nothing else to give, the worker that waits for the
    /// job may steal back here until this one goes on to something else.
    pub(crate) fn begin_stolen(&self, job: ptr::NonNull<job::Job>) {
        if !self.has_own_tasks() {
            self.slot().now_runs(job.as_ptr());
        }
    }

    /// Counts a task that was taken from another worker.
    pub(crate) fn record_steal_from(&self, victim: usize) {
        self.counters().steals.increment();
        let place = self.shared.place_of(victim);
        self.counters()
            .out_of_place
            .add(u64::from(place.is_some_and(|place| place != self.place())));
    }

    /// A borrowed thread goes on with its own work, and may never come back to the pool's.
    pub(crate) fn settle_borrowed(&self) {
        if self.is_borrowed {
            hooks::idle();
            self.slot().spends_time_on(None);
        }
    }
}
