//! A worker's hunt: look for work, ask the governor, do as it says.

use std::fmt;
use std::ptr::NonNull;

use super::governor::{Hunter, Move, Prospect};
use super::victims::Victims;
use crate::deque::{Steal, Thief};
use crate::job::Job;
use crate::latch::Flag;
use crate::os::{self, LoweredPriority};
use crate::pool::Shared;
use crate::primitive::spin_loop;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// What a worker keeps from one hunt to the next.
pub(crate) struct Hunt {
    hunter: Box<dyn Hunter>,
    victims: Victims,
}

impl Hunt {
    pub(crate) fn new(worker: usize, shared: &Shared) -> Self {
        let hunter = shared.governor().hunter(worker);
        Self { hunter, victims: Victims::new(worker, shared.workers()) }
    }

    /// Looks for work until there is some, or `done`.
    pub(crate) fn run(&mut self, worker: &Worker, done: &Flag) -> Option<NonNull<Job>> {
        let abort = AbortOnUnwind("a governor panicked");
        let shared = worker.shared();
        shared.sleep().begins_to_hunt();
        let (found, prospect) = self.search(worker, done);
        self.hunter.hunt_ends(&prospect);
        shared.sleep().stops_hunting(worker.summons(), || shared.is_work_left());
        abort.disarm();
        found
    }

    fn search(&mut self, worker: &Worker, done: &Flag) -> (Option<NonNull<Job>>, Prospect) {
        let mut failures = 0;
        let mut lowered = None;
        loop {
            let found = match lowered {
                None => self.attempt(worker, failures),
                Some(_) => None,
            };
            let prospect = Self::prospect(worker, failures);
            if found.is_some() || done.is_set() {
                return (found, prospect);
            }
            failures += 1;
            match self.hunter.after_failure(&Prospect { failures, ..prospect }) {
                Move::Search => spin_loop(),
                Move::Yield => {
                    worker.counters().yields.increment();
                    os::yield_now();
                }
                Move::YieldLowered => {
                    lowered = lowered.or_else(LoweredPriority::begin);
                    worker.counters().yields.increment();
                    os::yield_now();
                    // Back to normal before taking anything: a thief that is preempted after it took a task hides it.
                    if lowered.is_some() && Self::is_something_there(worker, done) {
                        lowered = None;
                    }
                }
                Move::Sleep => {
                    lowered = None;
                    Self::sleep(worker, done);
                    failures = 0;
                }
            }
        }
    }

    /// One attempt: the inbox first and then in turn with as many victims as there are, or else a random victim.
    fn attempt(&mut self, worker: &Worker, failures: u32) -> Option<NonNull<Job>> {
        let shared = worker.shared();
        let counters = worker.counters();
        if failures as usize % shared.workers() == 0 {
            let received = shared.inbox().take();
            if received.is_some() {
                counters.received.increment();
                return received;
            }
        }
        match shared.seat(self.victims.choose()?).thief().steal_oldest() {
            Steal::Taken(job) => {
                counters.steals.increment();
                Some(job)
            }
            Steal::Empty | Steal::Lost => {
                counters.failed_steals.increment();
                None
            }
        }
    }

    fn sleep(worker: &Worker, done: &Flag) {
        let shared = worker.shared();
        let look_again = || {
            let stay_awake = Self::is_something_there(worker, done);
            worker.counters().sleeps.add(u64::from(!stay_awake));
            stay_awake
        };
        if shared.sleep().sleep(worker.index(), None, look_again) {
            worker.counters().wakeups.increment();
        }
    }

    fn is_something_there(worker: &Worker, done: &Flag) -> bool {
        done.is_set() || worker.shared().is_work_left()
    }

    fn prospect(worker: &Worker, failures: u32) -> Prospect {
        let shared = worker.shared();
        let (hunting, asleep) = shared.sleep().hunting_and_asleep();
        let (workers, processors) = (shared.workers(), shared.processors());
        Prospect { failures, workers, hunting, asleep, processors }
    }
}

impl fmt::Debug for Hunt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hunt").field("victims", &self.victims).finish_non_exhaustive()
    }
}
