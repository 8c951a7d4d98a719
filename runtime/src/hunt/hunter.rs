//! A worker's hunt: ask the governor, and do as it says, until there is work.

use std::fmt;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::governor::{Hunter, Move, Prospect};
use super::victims::Victims;
use crate::deque::{Closed, Steal};
use crate::job::Job;
use crate::latch::Flag;
use crate::os::{self, LoweredPriority};
use crate::pool::Shared;
use crate::primitive::spin_loop;
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;

/// How many times a thief looks whether the owner that it has asked to open its deque has done so, before it goes on. An owner
/// that forks as often as one that closes its deque answers within nanoseconds; it takes longer to get to see it.
const LOOKS: u32 = 8;

/// After so many attempts a hunter that has asked in vain insists, whatever its governor says.
const INSIST_AFTER: u64 = 64;

/// A job that was taken, from the deque of that worker; or else `from` is the worker that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) job: NonNull<Job>,
    pub(crate) from: usize,
}

/// What a worker keeps from one hunt to the next.
pub(crate) struct Hunt {
    hunter: Box<dyn Hunter>,
    victims: Victims,
    /// Room for [`Shared::open_deques`], so that it need not allocate.
    closed: Vec<(usize, Closed)>,
    /// Whether a victim was asked to open its deque since that was last made sure of.
    has_asked: bool,
    /// For how long the worker has slept in this hunt.
    slept: Duration,
}

impl Hunt {
    pub(crate) fn new(worker: usize, shared: &Shared) -> Self {
        let hunter = shared.governor().hunter(worker);
        let closed = Vec::with_capacity(shared.workers());
        Self {
            hunter,
            victims: Victims::new(worker, shared.workers()),
            closed,
            has_asked: false,
            slept: Duration::ZERO,
        }
    }

    /// Looks for work until there is some, or `done`.
    pub(crate) fn run(&mut self, worker: &Worker, done: &Flag) -> Option<Found> {
        let abort = AbortOnUnwind("a governor panicked");
        let shared = worker.shared();
        shared.sleep().begins_to_hunt();
        let mut failures = 0;
        self.slept = Duration::ZERO;
        let begin = Instant::now();
        let found = self.search(worker, done, &mut failures);
        let hunting = begin.elapsed().saturating_sub(self.slept);
        worker.counters().hunting_nanos.add(hunting.as_nanos() as u64);
        self.hunter.hunt_ends(&prospect(worker, done, failures));
        self.stops_hunting(worker);
        abort.disarm();
        found
    }

    fn search(&mut self, worker: &Worker, done: &Flag, failures: &mut u64) -> Option<Found> {
        while !done.is_set() {
            match self.hunter.next(&prospect(worker, done, *failures)) {
                Move::Search => spin_loop(),
                Move::Yield => {
                    self.insist(worker);
                    let_others_run(worker);
                }
                Move::YieldLowered => {
                    self.insist(worker);
                    self.yield_lowered(worker);
                }
                Move::Sleep => {
                    self.sleep(worker, done);
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
            if failures.is_multiple_of(INSIST_AFTER) {
                self.insist(worker);
            }
        }
        None
    }

    /// One attempt: what was sent to this worker; the inbox, first and then once for as many victims as there are; or else
    /// one random victim.
    fn attempt(&mut self, worker: &Worker, failures: u64) -> Option<Found> {
        let mail = worker.take_mail();
        if mail.is_some() {
            return mail;
        }
        if failures.is_multiple_of(worker.workers() as u64) {
            let received = receive(worker);
            if received.is_some() {
                return received;
            }
        }
        let victim = self.victims.choose()?;
        self.steal(worker, victim)
    }

    /// Looks everywhere, for a worker that goes on with something else if there is nothing.
    pub(crate) fn look_once(&mut self, worker: &Worker) -> Option<Found> {
        self.sweep(worker).or_else(|| {
            // Whoever does this again and again must in the end get what a suspended owner keeps.
            let again = self.has_asked;
            self.insist(worker);
            again.then(|| self.sweep(worker)).flatten()
        })
    }

    /// One attempt each: the mailbox, the inbox, and all other workers from a random one on.
    fn sweep(&mut self, worker: &Worker) -> Option<Found> {
        let (first, workers) = (self.victims.choose(), worker.workers());
        let victims = first.into_iter().flat_map(|first| first..first + workers);
        let mut others = victims.map(|victim| victim % workers).filter(|&v| v != worker.index());
        let received = worker.take_mail().or_else(|| receive(worker));
        received.or_else(|| others.find_map(|victim| self.steal(worker, victim)))
    }

    fn steal(&mut self, worker: &Worker, victim: usize) -> Option<Found> {
        let seat = worker.shared().seat(victim);
        let mut steal = seat.steal_oldest();
        for _ in 0..LOOKS {
            if !matches!(steal, Steal::Kept) {
                break;
            }
            spin_loop();
            steal = seat.steal_oldest();
        }
        self.has_asked |= matches!(steal, Steal::Kept);
        if let Steal::Taken(job) = steal {
            worker.counters().steals.increment();
            return Some(Found { job, from: victim });
        }
        worker.counters().failed_steals.increment();
        None
    }

    /// An owner that was asked to open its deque and has not done so may be suspended, or busy with one long task, while
    /// others wait there. So a hunter sees to it, at the latest before it gives up the processor.
    fn insist(&mut self, worker: &Worker) {
        if std::mem::take(&mut self.has_asked) {
            worker.shared().open_deques(&mut self.closed);
        }
    }

    fn stops_hunting(&mut self, worker: &Worker) {
        let shared = worker.shared();
        shared.sleep().stops_hunting(worker.summons(), || {
            shared.open_deques(&mut self.closed);
            shared.is_work_left()
        });
    }

    /// Beside busy programs this may take long. So the worker does not count as hunting meanwhile: pushes wake another.
    fn yield_lowered(&mut self, worker: &Worker) {
        let shared = worker.shared();
        if !shared.can_lower_priority() {
            return let_others_run(worker);
        }
        self.stops_hunting(worker);
        let lowered = LoweredPriority::begin();
        let_others_run(worker);
        // Back to normal before taking anything: a thief that is preempted after it took a task hides it.
        drop(lowered);
        shared.sleep().begins_to_hunt();
    }

    fn sleep(&mut self, worker: &Worker, done: &Flag) {
        let shared = worker.shared();
        let look_again = || {
            shared.open_deques(&mut self.closed);
            let stay_awake = done.is_set() || worker.has_mail() || shared.is_work_left();
            worker.counters().sleeps.add(u64::from(!stay_awake));
            stay_awake
        };
        let begin = Instant::now();
        if shared.sleep().sleep(worker.index(), look_again) {
            worker.counters().wakeups.increment();
            self.slept += begin.elapsed();
        }
    }
}

fn receive(worker: &Worker) -> Option<Found> {
    let job = worker.shared().inbox().take()?;
    worker.counters().received.increment();
    Some(Found { job, from: worker.index() })
}

fn let_others_run(worker: &Worker) {
    worker.counters().yields.increment();
    os::yield_now();
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
