//! The default policy: after BWS, for a kernel that was not changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::{Activity, IdleContext};
use super::neighbours::Neighbours;
use super::pending_wakeups::PendingWakeups;
use super::policy::{End, IdlePolicy, Move, Thief};
use crate::os::Standing;
use crate::primitive::spin_loop;
use crate::sleep::Limit;

/// Balanced work stealing, after BWS (Ding, Wang, Gibbons, Zhang: "BWS: Balanced Work Stealing for Time-Sharing
/// Multicores", EuroSys 2012, section 3.2): a thief sleeps after a number of failed steals; it gives its processor to peers
/// that have work and do not run; thieves that succeed wish for two more thieves, whom other thieves wake.
///
/// What it adds is explained in the README beside this file's source:
/// - beside other programs it never yields but to a peer that has work,
/// - pushes keep no more workers awake than there are processors,
/// - thieves are paced, and more patient where no other program wants the machine,
/// - there, and only there, a thief that shares a processor with a peer goes to another one.
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
    turn: Option<Duration>,
    common: Arc<Common>,
}

/// What the thieves of a pool have in common.
#[derive(Debug)]
struct Common {
    neighbours: Neighbours,
    pending_wakeups: PendingWakeups,
}

/// A search's first attempts come as fast as they can, the later ones [`PACE`] apart.
const AT_ONCE: u32 = 16;
/// An attempt takes the line that the owner writes, so more of them would cost those who work.
const PACE: Duration = Duration::from_nanos(800);
/// Where nobody else wants the machine, a thief fails so many times as often before it sleeps.
const PATIENCE: u32 = 4;
/// After so many attempts a thief looks whether its last victim runs.
const LOOK_AFTER: u32 = 4;
/// Where nobody else wants the machine, a thief yields after so many attempts (25 µs), a multiple of those: for whoever wakes
/// now and then, and would otherwise wait until the thief's turn is over.
const YIELD_AFTER: u32 = 32;
/// A thief pulls peers to its processor no more often than this: moving a thread costs 30 µs, and what it has in the caches.
const BETWEEN_PULLS: Duration = Duration::from_micros(100);
/// Nor does it move more often than this.
const BETWEEN_MOVES: Duration = Duration::from_millis(1);
/// How long the sentinel sleeps: longer than the turn of another thread on the same processor (4 ms at most on kernels with
/// 250 clock ticks a second), so that a worker which waits for its turn does not look stuck. Behind three such turns it may.
const TIMED_PARK: Duration = Duration::from_millis(10);

impl Balanced {
    /// A thief sleeps after so many failed steals in a row.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        let common =
            Common { neighbours: Neighbours::new(), pending_wakeups: PendingWakeups::default() };
        Self { sleep_threshold, turn: None, common: Arc::new(common) }
    }

    /// Workers ask the kernel for turns of that length. If not called, they take turns as long as everybody's: with shorter ones
    /// drafts of this policy lost more beside other programs, in most of the pairs that were tried.
    #[must_use]
    pub fn with_turn(self, turn: Duration) -> Self {
        Self { turn: Some(turn), ..self }
    }
}

impl Default for Balanced {
    /// With a threshold of 64 failed steals, the paper's. By their pace they take 40 µs at least.
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
            sleep_threshold: self.sleep_threshold,
            steals: 0,
            attempted: now,
            pulled: now,
            moved: now,
            common: Arc::clone(&self.common),
        })
    }

    fn limit(&self, processors: usize) -> Limit {
        Limit { awake: processors, timed_park: TIMED_PARK }
    }

    fn spreads(&self) -> bool {
        true
    }

    fn turn(&self) -> Option<Duration> {
        self.turn
    }
}

#[derive(Debug)]
struct BalancedThief {
    worker: usize,
    sleep_threshold: u32,
    /// BWS's steal counter: failed steals.
    steals: u32,
    attempted: Instant,
    pulled: Instant,
    moved: Instant,
    common: Arc<Common>,
}

impl Thief for BalancedThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures == 0 {
            self.steals = 0;
        }
        if context.workers == 1 || context.is_over_limit() {
            return Move::Sleep;
        }
        self.steals += 1;
        if self.steals <= AT_ONCE.min(self.sleep_threshold) {
            return Move::Search;
        }
        let now = self.pause();
        if self.steals.is_multiple_of(LOOK_AFTER) {
            self.common.neighbours.look(now, context);
            let help = context.victim.and_then(|victim| self.help(victim, now, context));
            if let Some(help) = help {
                return help;
            }
            if self.steals.is_multiple_of(YIELD_AFTER) && self.common.neighbours.are_quiet() {
                return Move::Yield;
            }
        }
        if self.steals > self.patience() {
            // To sleep and to wake another would cost more than to stay.
            if !self.common.pending_wakeups.take(self.worker) {
                return Move::Sleep;
            }
            self.steals = 0;
        }
        Move::Search
    }

    fn search_ends(&mut self, context: &IdleContext<'_>, end: End) {
        // This one is awake, so the limit leaves room for another if one less than so many are awake now.
        let has_room = context.asleep > 0 && context.others_awake() + 1 < context.processors;
        if end == End::Stole && has_room {
            self.common.pending_wakeups.add(self.worker, 2);
        }
    }
}

impl BalancedThief {
    /// Waits until an attempt is due.
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

    fn patience(&self) -> u32 {
        if self.common.neighbours.are_quiet() {
            self.sleep_threshold.saturating_mul(PATIENCE)
        } else {
            self.sleep_threshold
        }
    }

    /// What can be done for, or by means of, a victim that had nothing to steal.
    fn help(&mut self, victim: usize, now: Instant, context: &IdleContext<'_>) -> Option<Move> {
        let pending_wakeups = &self.common.pending_wakeups;
        match context.activity(victim) {
            Activity::Works => {
                pending_wakeups.pass_on(victim, self.worker);
                self.give_way(victim, now, context)
            }
            Activity::Sleeps => pending_wakeups.take(self.worker).then_some(Move::Wake(victim)),
            Activity::Searches => None,
        }
    }

    fn give_way(&mut self, victim: usize, now: Instant, context: &IdleContext<'_>) -> Option<Move> {
        let is_quiet = self.common.neighbours.are_quiet();
        match context.standing(victim) {
            Standing::WaitsHere if !is_quiet => Some(Move::HandOver(victim)),
            // Another processor must be free, or will be soon.
            Standing::WaitsHere if now - self.moved >= BETWEEN_MOVES => {
                self.moved = now;
                Some(Move::MoveAway)
            }
            // Where nobody else wants the machine, it will run by itself in an instant.
            Standing::WaitsElsewhere if !is_quiet && now - self.pulled >= BETWEEN_PULLS => {
                self.pulled = now;
                Some(Move::HandOver(victim))
            }
            _ => None,
        }
    }
}
