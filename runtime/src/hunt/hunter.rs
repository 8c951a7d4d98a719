//! A worker's hunt: ask the governor, and do as it says, until there is work.

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
        let mut failures = 0;
        let found = self.search(worker, done, &mut failures);
        self.hunter.hunt_ends(&prospect(worker, done, failures));
        shared.sleep().stops_hunting(worker.summons(), || shared.is_work_left());
        abort.disarm();
        found
    }

    fn search(&mut self, worker: &Worker, done: &Flag, failures: &mut u32) -> Option<NonNull<Job>> {
        let mut lowered = None;
        while !done.is_set() {
            let next = self.hunter.next(&prospect(worker, done, *failures));
            if !matches!(next, Move::YieldLowered) {
                lowered = None;
            }
            let found = match next {
                Move::Search => {
                    spin_loop();
                    self.attempt(worker, *failures)
                }
                Move::Yield => {
                    let_others_run(worker);
                    self.attempt(worker, *failures)
                }
                Move::YieldLowered => {
                    lowered = lowered.or_else(|| lower_priority(worker));
                    let_others_run(worker);
                    // Back to normal before taking anything: a thief that is preempted after it took a task hides it.
                    if lowered.is_none() || worker.shared().is_work_left() {
                        lowered = None;
                        self.attempt(worker, *failures)
                    } else {
                        None
                    }
                }
                Move::Sleep => {
                    sleep(worker, done);
                    *failures = 0;
                    continue;
                }
            };
            if found.is_some() {
                return found;
            }
            *failures = failures.saturating_add(1);
        }
        None
    }

    /// One attempt: the inbox first and then once for as many victims as there are, or else one random victim.
    fn attempt(&mut self, worker: &Worker, failures: u32) -> Option<NonNull<Job>> {
        if (failures as usize).is_multiple_of(worker.workers()) {
            let received = receive(worker);
            if received.is_some() {
                return received;
            }
        }
        steal(worker, self.victims.choose()?)
    }
}

fn receive(worker: &Worker) -> Option<NonNull<Job>> {
    let received = worker.shared().inbox().take();
    if received.is_some() {
        worker.counters().received.increment();
    }
    received
}

fn steal(worker: &Worker, victim: usize) -> Option<NonNull<Job>> {
    match worker.shared().seat(victim).thief().steal_oldest() {
        Steal::Taken(job) => {
            worker.counters().steals.increment();
            Some(job)
        }
        Steal::Empty | Steal::Lost => {
            worker.counters().failed_steals.increment();
            None
        }
    }
}

fn lower_priority(worker: &Worker) -> Option<LoweredPriority> {
    worker.shared().can_lower_priority().then(LoweredPriority::begin).flatten()
}

fn let_others_run(worker: &Worker) {
    worker.counters().yields.increment();
    os::yield_now();
}

fn sleep(worker: &Worker, done: &Flag) {
    let shared = worker.shared();
    let look_again = || {
        let stay_awake = done.is_set() || shared.is_work_left();
        worker.counters().sleeps.add(u64::from(!stay_awake));
        stay_awake
    };
    if shared.sleep().sleep(worker.index(), look_again) {
        worker.counters().wakeups.increment();
    }
}

fn prospect(worker: &Worker, done: &Flag, failures: u32) -> Prospect {
    let shared = worker.shared();
    let census = shared.sleep().census();
    Prospect {
        failures,
        waits: !std::ptr::eq(done, shared.closed()),
        workers: shared.workers(),
        hunting: census.hunting(),
        asleep: census.asleep(),
        processors: shared.processors(),
    }
}

impl fmt::Debug for Hunt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hunt").field("victims", &self.victims).finish_non_exhaustive()
    }
}
