//! A worker's loop: until its pool is closed, or until something has happened that it waits for.

use std::ptr::{self, NonNull};

use super::Worker;
use super::turns::LOOK_ELSEWHERE_AFTER;
use crate::held;
use crate::hunt::{Found, Goal};
use crate::job::{self, Job};
use crate::latch::Flag;
use crate::os;
use crate::unwind::AbortOnUnwind;

impl Worker {
    /// Runs this worker on the calling thread until its pool is closed.
    pub(crate) fn serve(&self) {
        self.as_current(|| self.work_until_closed());
    }

    /// Runs tasks until the pool is closed: own ones, or else what a hunt brings; but first of all stacks that waited and are
    /// ready.
    pub(crate) fn work_until_closed(&self) {
        // Tasks do not unwind: their panics are caught.
        let abort = AbortOnUnwind("a panic came out of a task");
        let closed = self.shared.closed();
        while !closed.is_set() {
            if self.shared.is_lost() {
                self.shared.end_of_the_lost();
            }
            if let Some(found) = self.next(closed) {
                self.execute(found);
                self.doubts.executed();
            }
        }
        abort.disarm();
    }

    /// The same until `done`, for a frame on the thread's own stack: what is found runs on stacks of its own, where there are any,
    /// and on top of the frame where there are not.
    pub(crate) fn work_until(&self, done: &Flag) {
        self.work_on(done, || ());
    }

    /// The same, and calls `between` before it looks for anything, and before it begins what it has found.
    pub(crate) fn work_on(&self, done: &Flag, between: impl Fn()) {
        // Whoever waits here has a frame that others point into.
        let abort = AbortOnUnwind("a panic came out of a task");
        let _unable = self.waits_on_top();
        while !done.is_set() {
            between();
            if let Some(found) = self.next(done) {
                between();
                self.start(found);
                self.doubts.executed();
            }
        }
        self.settle_as_guest();
        abort.disarm();
    }

    /// Resumes a stack that is ready, or finds a task. Neither if `done`.
    fn next(&self, done: &Flag) -> Option<Found> {
        if self.has_ready_stack() {
            if self.is_others_turn() {
                return self.take_what_waits_here();
            }
            self.resume_one();
            self.doubts.executed();
            return None;
        }
        let found = self.take_own().or_else(|| self.take_addressed_in_turn());
        found.or_else(|| self.hunt(done))
    }

    fn hunt(&self, done: &Flag) -> Option<Found> {
        // As if: it also comes to an end if it always finds something. What is made ready here no hunt would take.
        if self.doubts.polled(LOOK_ELSEWHERE_AFTER as usize)
            && let Some(found) = self.take_own()
        {
            return Some(found);
        }
        self.deque.open();
        // Stacks that are ready while it cannot resume them are no reason to stop.
        let heeds_returns = self.may_switch();
        self.hunt.borrow_mut().run(self, Goal { done, heeds_returns })
    }

    /// Waits for `job`, which was pushed here, or takes it back. Says whether it did that.
    #[cold]
    #[inline(never)]
    pub(crate) fn recover(&self, job: NonNull<Job>, end: &Flag) -> bool {
        if self.shared.is_lost() {
            return self.recover_in_a_child(job, end);
        }
        let abort = AbortOnUnwind("a panic came out of a task");
        self.payer.pay();
        while !end.is_set() {
            match self.take_newest() {
                Some(newest) if newest.job == job => {
                    self.settle_as_guest();
                    abort.disarm();
                    return true;
                }
                // Something was left behind that is newer, and that nobody waited for; by the first task, or by what ran here
                // while that one waited.
                Some(newer) => {
                    self.start(newer);
                    self.give_way();
                }
                None => self.wait_until(end),
            }
        }
        self.settle_as_guest();
        abort.disarm();
        false
    }

    pub(crate) fn execute(&self, found: Found) {
        self.counters().tasks.increment();
        self.seat().now_runs(ptr::null_mut());
        let generation = os::generation();
        // SAFETY: jobs in deques and inboxes are alive until they have run, and this one was taken by us alone, from
        // where `found` says.
        held::apart(|| unsafe { job::execute(found.job, self, found.from) });
        if generation != os::generation() {
            self.shared.end_of_the_lost();
        }
    }

    /// A job begins that was stolen. If this worker has nothing else to give, whoever waits for that may look here for what lies
    /// below it, until the worker goes on to something else.
    pub(crate) fn begin_stolen(&self, job: NonNull<Job>) {
        if !self.has_own_tasks() {
            self.seat().now_runs(job.as_ptr());
        }
    }

    /// It has taken a task of another worker.
    pub(crate) fn has_stolen_from(&self, victim: usize) {
        self.counters().steals.increment();
        let place = self.shared.place_of(victim);
        self.counters()
            .out_of_place
            .add(u64::from(place.is_some_and(|place| place != self.place())));
    }

    /// A guest that goes on with what is its own may not come back to look at what it has noted.
    pub(crate) fn settle_as_guest(&self) {
        if self.is_guest {
            self.doubts.settle();
            self.seat().spends_time_on(None);
        }
    }
}
