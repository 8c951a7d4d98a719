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

    fn search(&mut self, worker: &Worker, done: &Flag, failures: &mut u64) -> Option<NonNull<Job>> {
        while !done.is_set() {
            match self.hunter.next(&prospect(worker, done, *failures)) {
                Move::Search => spin_loop(),
                Move::Yield => let_others_run(worker),
                Move::YieldLowered => yield_lowered(worker),
                Move::Sleep => {
                    sleep(worker, done);
                    // Whatever the governor goes on to say: it cannot leave alone what there is.
                    let found = self.sweep(worker);
                    if found.is_some() {
                        return found;
                    }
                    *failures = 0;
                    continue;
                }
            }
            let found = self.attempt(worker, *failures);
            if found.is_some() {
                return found;
            }
            *failures += 1;
        }
        None
    }

    /// One attempt: the inbox first and then once for as many victims as there are, or else one random victim.
    fn attempt(&mut self, worker: &Worker, failures: u64) -> Option<NonNull<Job>> {
        if failures.is_multiple_of(worker.workers() as u64) {
            let received = receive(worker);
            if received.is_some() {
                return received;
            }
        }
        steal(worker, self.victims.choose()?)
    }

    /// One attempt each: the inbox, and all other workers from a random one on.
    fn sweep(&mut self, worker: &Worker) -> Option<NonNull<Job>> {
        let (first, workers) = (self.victims.choose(), worker.workers());
        let victims = first.into_iter().flat_map(|first| first..first + workers);
        let mut others = victims.map(|victim| victim % workers).filter(|&v| v != worker.index());
        receive(worker).or_else(|| others.find_map(|victim| steal(worker, victim)))
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

/// Beside busy programs this may take long. So the worker does not count as hunting meanwhile: pushes wake another.
fn yield_lowered(worker: &Worker) {
    let shared = worker.shared();
    if !shared.can_lower_priority() {
        return let_others_run(worker);
    }
    shared.sleep().stops_hunting(worker.summons(), || shared.is_work_left());
    let lowered = LoweredPriority::begin();
    let_others_run(worker);
    // Back to normal before taking anything: a thief that is preempted after it took a task hides it.
    drop(lowered);
    shared.sleep().begins_to_hunt();
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

fn prospect(worker: &Worker, done: &Flag, failures: u64) -> Prospect {
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
