//! Yields and hand-overs of a thief, and its polls of the allowance.

use super::cpu_placement::{bring_here, is_taken};
use super::searcher::Searcher;
use crate::os::{self, LoweredPriority};
use crate::scheduler::Worker;
use crate::scheduler::allowance::{Allowance, PollPhase};
use crate::trace::Event;

impl Searcher {
    /// Yields at the lowest priority. Beside busy programs this may take long, so the worker does
    /// not count as searching meanwhile: pushes wake another one.
    pub(super) fn yield_lowered(&mut self, worker: &Worker) {
        let shared = worker.shared();
        if !shared.can_lower_priority {
            return self.yield_to_others(worker);
        }
        self.leave_searching(worker);
        let lowered = LoweredPriority::begin();
        self.yield_to_others(worker);
        // Restored before it takes anything: a preempted thief hides the task that it has taken.
        drop(lowered);
        shared.sleep.begin_search();
    }

    /// Gives the processor to `peer`, which does not run.
    pub(super) fn hand_over(&mut self, worker: &Worker, peer: usize) {
        if bring_here(worker, peer) {
            worker.counters().hand_overs.increment();
            worker.shared().trace(|| Event::HandsOver(peer));
            self.yield_to_others(worker);
        }
    }

    /// Yields the processor.
    pub(super) fn yield_to_others(&mut self, worker: &Worker) {
        self.account_for_switches(worker, 0);
        worker.counters().yields.increment();
        os::yield_now();
        let has_switched = worker.slot().switches().is_some_and(|now| now > self.switches);
        let is_alone = || {
            let here = worker.slot().processor();
            here.is_some_and(|here| !is_taken(here, worker))
        };
        self.account_for_switches(worker, u64::from(has_switched && is_alone()));
    }

    /// Adds the context switches since the last call, except for `excluded` of them, to those that
    /// gave a thief a processor. The thief counts them itself, so a worker with work pays nothing.
    pub(super) fn account_for_switches(&mut self, worker: &Worker, excluded: u64) {
        if let Some(now) = worker.slot().switches() {
            worker.counters().to_thief.add(now - self.switches - excluded);
            self.switches = now;
        }
    }

    /// Polls the allowance in the middle of a search.
    pub(super) fn poll_allowance(&mut self, worker: &Worker) {
        let shared = worker.shared();
        let is_long = |it: &Allowance| it.is_poll_long(it.now(), shared.awake());
        if shared.allowance.as_ref().is_some_and(is_long) {
            self.poll_uncounted(worker, PollPhase::BeforeSearch);
        } else {
            let _ = shared.poll_allowance(PollPhase::Searching);
        }
    }

    /// Polls the allowance if that is due. Returns true if it has: the number of workers that may
    /// be awake may be another one now.
    pub(super) fn poll_allowance_before_sleep(&mut self, worker: &Worker) -> bool {
        let is_due = |it: &Allowance| it.is_due(it.now());
        worker.shared().allowance.as_ref().is_some_and(is_due)
            && self.poll_uncounted(worker, PollPhase::BeforeSleep)
    }

    /// Polls the allowance, which may read files. The worker does not count as searching meanwhile:
    /// pushes wake another one.
    fn poll_uncounted(&mut self, worker: &Worker, phase: PollPhase) -> bool {
        let shared = worker.shared();
        self.leave_searching(worker);
        let has_polled = shared.poll_allowance(phase);
        shared.sleep.begin_search();
        has_polled
    }
}
