//! The default policy: BWS for an unmodified kernel.

use std::sync::Arc;
use std::time::Duration;

use super::policy::{Activity, IdleContext, IdlePolicy, Move, Thief};
use crate::os::RunState;
use crate::primitive::plain::{AtomicU32, OnceLock};
use crate::primitive::{CachePadded, Instant, Ordering, spin_loop};
use crate::tuning::{
    CHECK_MACHINE_EVERY, PACE, QUIET_PATIENCE, SLEEP_THRESHOLD, UNPACED_ATTEMPTS, YIELD_EVERY,
};

/// The default policy: balanced work stealing, for machines that other programs use too.
///
/// As in BWS, a thief sleeps after a number of failed steals. It gives its processor to peers that
/// have work and do not run. A successful thief requests two more thieves, which other thieves
/// wake. `Balanced` adds:
/// - While other programs want the machine, a thief yields only to a peer that has work.
/// - The pool [limits](IdlePolicy::is_limited) how many workers are active.
/// - Attempts are paced. On a quiet machine a thief makes more of them before it sleeps.
///
/// Source: Ding, Wang, Gibbons and Zhang, "BWS: Balanced Work Stealing for Time-Sharing
/// Multicores", EuroSys 2012, section 3.2.
///
/// # Examples
/// ```
/// use locksley::{Pool, idle::Balanced};
///
/// let eager = Balanced::with_threshold(1024);
/// let pool = Pool::builder().workers(2).idle_policy(eager).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Balanced {
    sleep_threshold: u32,
    time_slice: Option<Duration>,
    pending_wakeups: Arc<PendingWakeups>,
}

impl Balanced {
    /// Sets the number of failed steals in a row after which a thief sleeps.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        Self { sleep_threshold, time_slice: None, pending_wakeups: Arc::default() }
    }

    /// Has workers ask the kernel for time slices of that length.
    ///
    /// By default they keep the kernel's. Shorter slices are fairer to programs with serial parts;
    /// other programs lose more.
    #[must_use]
    pub fn with_time_slice(self, time_slice: Duration) -> Self {
        Self { time_slice: Some(time_slice), ..self }
    }
}

impl Default for Balanced {
    /// With the paper's threshold of 64 failed steals, which take about 40 µs at their pace.
    fn default() -> Self {
        Self::with_threshold(SLEEP_THRESHOLD)
    }
}

impl IdlePolicy for Balanced {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief> {
        self.pending_wakeups.prepare(workers);
        let pending_wakeups = Arc::clone(&self.pending_wakeups);
        let policy = Self { pending_wakeups, ..*self };
        let attempted = Instant::now();
        Box::new(BalancedThief { worker, attempts: 0, attempted, unpaced: 0, stole: None, policy })
    }

    fn is_limited(&self) -> bool {
        true
    }

    fn time_slice(&self) -> Option<Duration> {
        self.time_slice
    }
}

#[derive(Debug)]
struct BalancedThief {
    worker: usize,
    /// The steal counter of BWS: the attempts in a row, including the next one.
    attempts: u32,
    attempted: Instant,
    /// How many attempts of this search are made without a pause.
    unpaced: u32,
    /// When the last steal was, until the next search begins.
    stole: Option<Instant>,
    policy: Balanced,
}

impl Thief for BalancedThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures == 0 {
            // Where stolen tasks are shorter than the pace, more steals slow their owner down.
            let was_brief = self.stole.take().is_some_and(|stole| stole.elapsed() < PACE);
            (self.attempts, self.unpaced) = (0, if was_brief { 0 } else { UNPACED_ATTEMPTS });
        }
        if context.workers == 1 {
            return Move::Sleep;
        }
        self.attempts += 1;
        if self.attempts <= self.unpaced.min(self.policy.sleep_threshold) {
            return Move::Search;
        }
        self.pause();
        let is_quiet = context.is_machine_quiet();
        if self.attempts % CHECK_MACHINE_EVERY == 0 {
            let help = context.victim.and_then(|victim| self.help(victim, is_quiet, context));
            if let Some(help) = help {
                return help;
            }
            if is_quiet && self.attempts % YIELD_EVERY == 0 {
                return Move::Yield;
            }
        }
        let patience = if is_quiet { QUIET_PATIENCE } else { 1 };
        if self.attempts > self.policy.sleep_threshold.saturating_mul(patience) {
            // To stay awake costs less than to sleep and wake another worker.
            if !self.policy.pending_wakeups.take(self.worker) {
                return Move::Sleep;
            }
            self.attempts = 0;
        }
        Move::Search
    }

    fn stole(&mut self, context: &IdleContext<'_>) {
        self.stole = Some(Instant::now());
        let asleep = context.asleep();
        if asleep > 0 && context.workers - asleep < context.processors {
            self.policy.pending_wakeups.add(self.worker, 2);
        }
    }
}

impl BalancedThief {
    /// Spins until the next attempt is due.
    fn pause(&mut self) {
        let due = self.attempted + PACE;
        self.attempted = Instant::now();
        while self.attempted < due {
            spin_loop();
            self.attempted = Instant::now();
        }
    }

    /// What to do about a victim that had nothing to steal.
    fn help(&self, victim: usize, is_quiet: bool, context: &IdleContext<'_>) -> Option<Move> {
        let pending_wakeups = &self.policy.pending_wakeups;
        match context.activity(victim) {
            Activity::Works => {
                pending_wakeups.take_over(self.worker, victim);
                // On a quiet machine another processor is idle, or will be soon.
                let gives_way = !is_quiet && context.run_state(victim) == RunState::WaitsHere;
                gives_way.then_some(Move::HandOver(victim))
            }
            Activity::Sleeps => pending_wakeups.take(self.worker).then_some(Move::Wake(victim)),
            Activity::Searches => None,
        }
    }
}

/// The wake-up counters of BWS (section 3.2): the number of sleepers that each worker wants woken.
///
/// Thieves take requests over from workers with work, which spend no time on them. A lost or
/// doubled request wakes one worker less or more, and no task depends on it, so accesses are
/// relaxed.
#[derive(Debug, Default)]
struct PendingWakeups(OnceLock<Box<[CachePadded<AtomicU32>]>>);

impl PendingWakeups {
    /// Allocates the counters, once. Every worker calls this before any other method.
    fn prepare(&self, workers: usize) {
        let _ = self.0.get_or_init(|| (0..workers).map(|_| CachePadded::default()).collect());
    }

    fn of(&self, worker: usize) -> Option<&AtomicU32> {
        self.0.get()?.get(worker).map(|padded| &**padded)
    }

    fn add(&self, worker: usize, number: u32) {
        if let Some(pending_wakeups) = self.of(worker) {
            pending_wakeups.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Takes one request of `worker`. Returns true if there was one.
    fn take(&self, worker: usize) -> bool {
        let less = |pending_wakeups: u32| pending_wakeups.checked_sub(1);
        self.of(worker).is_some_and(|pending_wakeups| {
            pending_wakeups.load(Ordering::Relaxed) > 0
                && pending_wakeups.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        })
    }

    /// Moves one request of `victim`, if there is one, to `thief`.
    fn take_over(&self, thief: usize, victim: usize) {
        if self.take(victim) {
            self.add(thief, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_over_and_taken_once() {
        let pending_wakeups = PendingWakeups::default();
        pending_wakeups.prepare(2);
        pending_wakeups.add(0, 2);
        pending_wakeups.take_over(1, 0);
        assert!(pending_wakeups.take(1) && !pending_wakeups.take(1));
        pending_wakeups.take_over(0, 1);
        assert!(pending_wakeups.take(0) && !pending_wakeups.take(0), "there was none to take over");
    }
}
