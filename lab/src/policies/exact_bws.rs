//! Algorithm 2 of the BWS paper.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use locksley::idle::{Activity, End, IdleContext, IdlePolicy, Move, Thief};
use locksley::os::RunState;

/// Algorithm 2 of the BWS paper (EuroSys 2012, section 3.2), line by line. Unlike
/// [`Bws`](locksley::idle::Bws), it compares the steal counter with the threshold after it has
/// looked at the victim (lines 34 to 40), and its wake-up counters have no maximum.
///
/// One step differs. A [`Move`] ends with an attempt. So if the failure that exceeds the threshold
/// also yields to the victim or wakes it, the thief makes one more attempt before it sleeps.
///
/// The paper's watchdog, a thief that never sleeps, is left out. There, busy workers wake no
/// thieves, so new tasks could go unnoticed while all thieves sleep. Here, a push wakes a sleeper
/// if no worker searches. A watchdog would also take a processor from other programs for ever.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::ExactBws;
///
/// let pool = Pool::builder().workers(2).idle_policy(ExactBws::default()).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug, Default)]
pub struct ExactBws {
    counters: Arc<OnceLock<Box<[AtomicU64]>>>,
}

/// `SleepThreshold` in the paper's experiments (section 5.1).
const SLEEP_THRESHOLD: u32 = 64;

/// The state in which a thief finds its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    /// It runs a task, but was preempted.
    Preempted,
    /// It runs a task.
    Works,
    Sleeps,
    /// It is a thief itself.
    Searches,
}

impl IdlePolicy for ExactBws {
    fn name(&self) -> &'static str {
        "exact-bws"
    }

    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief> {
        Box::new(self.new_thief(worker, workers))
    }
}

impl ExactBws {
    pub(super) fn new_thief(&self, worker: usize, workers: usize) -> ExactThief {
        let _ = self.counters.get_or_init(|| (0..workers).map(|_| AtomicU64::new(0)).collect());
        ExactThief { worker, steal_counter: 0, sleeps_next: false, counters: self.counters.clone() }
    }
}

#[derive(Debug)]
pub(super) struct ExactThief {
    /// The paper's w.
    worker: usize,
    /// The paper's n.
    steal_counter: u32,
    /// True if the last failure exceeded the threshold, but its move was not `Sleep`.
    sleeps_next: bool,
    counters: Arc<OnceLock<Box<[AtomicU64]>>>,
}

impl ExactThief {
    /// The paper's c of a worker. No task depends on it, so accesses are relaxed.
    fn wake_up_counter(&self, worker: usize) -> Option<&AtomicU64> {
        self.counters.get()?.get(worker)
    }

    /// Decrements the counter of a worker. Returns false if it is 0.
    fn take(&self, worker: usize) -> bool {
        let less = |counter: u64| counter.checked_sub(1);
        self.wake_up_counter(worker).is_some_and(|counter| {
            counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        })
    }

    pub(super) fn add(&self, number: u64) {
        if let Some(counter) = self.wake_up_counter(self.worker) {
            counter.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Sets its own counter to 0, and returns the previous value.
    #[cfg(test)]
    pub(super) fn drain(&self) -> u64 {
        (0..).take_while(|_| self.take(self.worker)).count() as u64
    }

    /// Lines 17 to 40, after a failed steal from `victim`. `None` if the attempt had no victim.
    pub(super) fn fail(&mut self, victim: Option<(usize, Victim)>) -> Move {
        if std::mem::take(&mut self.sleeps_next) {
            return Move::Sleep;
        }
        let next = match victim {
            Some((victim, Victim::Preempted)) => Move::HandOver(victim),
            Some((victim, Victim::Works)) => {
                if self.take(victim) {
                    self.add(1);
                }
                Move::Search
            }
            Some((victim, Victim::Sleeps)) if self.take(self.worker) => Move::Wake(victim),
            _ => Move::Search,
        };
        self.steal_counter += 1;
        if self.steal_counter <= SLEEP_THRESHOLD {
            return next;
        }
        self.steal_counter = 0;
        if self.take(self.worker) {
            return next;
        }
        self.sleeps_next = next != Move::Search;
        if self.sleeps_next { next } else { Move::Sleep }
    }
}

impl Thief for ExactThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures == 0 {
            return Move::Search;
        }
        let victim = context.victim.map(|victim| {
            let does = match (context.activity(victim), context.run_state(victim)) {
                (Activity::Sleeps, _) => Victim::Sleeps,
                (Activity::Searches, _) => Victim::Searches,
                (Activity::Works, RunState::WaitsHere | RunState::WaitsElsewhere) => {
                    Victim::Preempted
                }
                (Activity::Works, _) => Victim::Works,
            };
            (victim, does)
        });
        self.fail(victim)
    }

    fn search_ends(&mut self, _context: &IdleContext<'_>, end: End) {
        (self.steal_counter, self.sleeps_next) = (0, false);
        if end == End::Stole {
            self.add(2);
        }
    }
}
