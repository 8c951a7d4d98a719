//! The default policy: BWS for an unmodified kernel.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::contention::CpuContention;
use super::context::{Activity, IdleContext};
use super::pending_wakeups::PendingWakeups;
use super::policy::{End, IdlePolicy, Move, Thief};
use crate::os::RunState;
use crate::primitive::{Instant, spin_loop};
use crate::sleep::Limit;

/// The default policy: balanced work stealing, for machines that other programs use too.
///
/// As in BWS, a thief sleeps after a number of failed steals. It gives its processor to peers that
/// have work and do not run. A successful thief requests two more thieves, which other thieves
/// wake. `Balanced` adds:
/// - While other programs want the machine, a thief yields only to a peer that has work.
/// - Pushes keep no more workers awake than there are processors.
/// - Attempts are paced. On a quiet machine a thief makes more of them before it sleeps.
/// - On a quiet machine, a thief that shares a processor with a peer moves to another one.
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
    time_slice: Option<Duration>,
    common: Arc<Common>,
}

/// What the thieves of a pool share.
#[derive(Debug)]
struct Common {
    sleep_threshold: u32,
    contention: CpuContention,
    pending_wakeups: PendingWakeups,
}

/// The number of attempts of a search that are made without a pause.
const UNPACED_ATTEMPTS: u32 = 16;
/// The time between later attempts. An attempt takes a cache line that the owner writes, so faster
/// attempts would slow the owner down.
const PACE: Duration = Duration::from_nanos(800);
/// On a quiet machine, the sleep threshold is this many times as high.
const PATIENCE: u32 = 4;
/// The number of attempts after which a thief checks whether its last victim runs.
const CHECK_VICTIM_AFTER: u32 = 4;
/// On a quiet machine, the number of attempts (25 µs) after which a thief yields: a program that
/// wakes up now and then would otherwise wait until the thief's time slice ends. A multiple of
/// [`CHECK_VICTIM_AFTER`].
const YIELD_AFTER: u32 = 32;
/// The least time between two moves of peers to this processor. A move takes 30 µs, and the thread
/// loses what it has in the caches.
const BETWEEN_PULLS: Duration = Duration::from_micros(100);
/// The least time between two moves of the thief itself.
const BETWEEN_MOVES: Duration = Duration::from_millis(1);
/// The sentinel's timeout. It is longer than a time slice (at most 4 ms with 250 clock ticks a
/// second), so that a worker which waits for another thread's slice does not look blocked.
const TIMED_PARK: Duration = Duration::from_millis(10);

impl Balanced {
    /// Sets the number of failed steals in a row after which a thief sleeps.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        let (contention, pending_wakeups) = (CpuContention::new(), PendingWakeups::default());
        let common = Common { sleep_threshold, contention, pending_wakeups };
        Self { time_slice: None, common: Arc::new(common) }
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
    /// With the paper's threshold of 64 failed steals. At their pace these take at least 40 µs.
    fn default() -> Self {
        Self::with_threshold(64)
    }
}

impl IdlePolicy for Balanced {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief> {
        self.common.pending_wakeups.prepare(workers);
        let now = Instant::now();
        Box::new(BalancedThief {
            worker,
            attempts: 0,
            attempted: now,
            pulled: now,
            moved: now,
            external_wakeups: 0,
            common: Arc::clone(&self.common),
        })
    }

    fn limit(&self, processors: usize) -> Limit {
        Limit { awake: processors, timed_park: TIMED_PARK }
    }

    fn spreads(&self) -> bool {
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
    pulled: Instant,
    moved: Instant,
    /// [`IdleContext::external_wakeups`] at the last attempt.
    external_wakeups: u32,
    common: Arc<Common>,
}

impl Thief for BalancedThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures == 0 {
            self.attempts = 0;
        }
        if context.workers == 1 || context.is_over_limit() {
            return Move::Sleep;
        }
        self.attempts += 1;
        if mem::replace(&mut self.external_wakeups, context.external_wakeups)
            != context.external_wakeups
        {
            self.common.contention.poll(Instant::now(), context);
            if self.common.contention.is_machine_quiet() {
                return Move::Yield;
            }
        }
        if self.attempts <= UNPACED_ATTEMPTS.min(self.common.sleep_threshold) {
            return Move::Search;
        }
        let now = self.pause();
        if self.attempts.is_multiple_of(CHECK_VICTIM_AFTER) {
            self.common.contention.poll(now, context);
            let help = context.victim.and_then(|victim| self.help(victim, now, context));
            if let Some(help) = help {
                return help;
            }
            if self.attempts.is_multiple_of(YIELD_AFTER)
                && self.common.contention.is_machine_quiet()
            {
                return Move::Yield;
            }
        }
        if self.attempts > self.current_threshold() {
            // To stay awake costs less than to sleep and wake another worker.
            if !self.common.pending_wakeups.take(self.worker) {
                return Move::Sleep;
            }
            self.attempts = 0;
        }
        Move::Search
    }

    fn search_ends(&mut self, context: &IdleContext<'_>, end: End) {
        let awake = context.workers.saturating_sub(context.asleep);
        let has_room = context.asleep > 0 && awake < context.processors;
        if end == End::Stole && has_room {
            self.common.pending_wakeups.add(self.worker, 2);
        }
    }
}

impl BalancedThief {
    /// Spins until the next attempt is due. Returns the time.
    fn pause(&mut self) -> Instant {
        let due = self.attempted + PACE;
        let mut now = Instant::now();
        while now < due {
            spin_loop();
            now = Instant::now();
        }
        self.attempted = now;
        now
    }

    fn current_threshold(&self) -> u32 {
        if self.common.contention.is_machine_quiet() {
            self.common.sleep_threshold.saturating_mul(PATIENCE)
        } else {
            self.common.sleep_threshold
        }
    }

    /// What to do about a victim that had nothing to steal.
    fn help(&mut self, victim: usize, now: Instant, context: &IdleContext<'_>) -> Option<Move> {
        let pending_wakeups = &self.common.pending_wakeups;
        match context.activity(victim) {
            Activity::Works => {
                pending_wakeups.take_over(self.worker, victim);
                self.give_way(victim, now, context)
            }
            Activity::Sleeps => pending_wakeups.take(self.worker).then_some(Move::Wake(victim)),
            Activity::Searches => None,
        }
    }

    fn give_way(&mut self, victim: usize, now: Instant, context: &IdleContext<'_>) -> Option<Move> {
        let is_quiet = self.common.contention.is_machine_quiet();
        match context.run_state(victim) {
            RunState::WaitsHere if !is_quiet => Some(Move::HandOver(victim)),
            // On a quiet machine another processor is idle, or will be soon.
            RunState::WaitsHere if now - self.moved >= BETWEEN_MOVES => {
                self.moved = now;
                Some(Move::MoveAway)
            }
            // On a quiet machine the victim runs again in an instant without help.
            RunState::WaitsElsewhere if !is_quiet && now - self.pulled >= BETWEEN_PULLS => {
                self.pulled = now;
                Some(Move::HandOver(victim))
            }
            _ => None,
        }
    }
}
