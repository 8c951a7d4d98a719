//! The default policy: after BWS, for a kernel that was not changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::governor::{End, Governor, Hunter, Move};
use super::neighbours::Neighbours;
use super::prospect::{Activity, Prospect};
use super::wishes::Wishes;
use crate::os::Standing;
use crate::primitive::spin_loop;
use crate::sleep::Limit;

/// Balanced work stealing, after BWS (Ding, Wang, Gibbons, Zhang: "BWS: Balanced Work Stealing for Time-Sharing
/// Multicores", EuroSys 2012, section 3.2): a hunter sleeps after a number of failed steals; it gives its processor to peers
/// that have work and do not run; thieves that succeed wish for two more hunters, whom other hunters wake.
///
/// What it adds is explained in the README beside this file's source:
/// - beside other programs it never yields but to a peer that has work,
/// - pushes keep no more workers awake than there are processors,
/// - hunters are paced, and more patient where no other program wants the machine,
/// - there, and only there, a hunter that shares a processor with a peer goes to another one.
///
/// # Examples
/// ```
/// use locksley::{Pool, idle::Balanced};
///
/// let eager = Balanced::with_threshold(1024);
/// let pool = Pool::builder().workers(2).governor(eager).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Balanced {
    sleep_threshold: u32,
    turn: Option<Duration>,
    common: Arc<Common>,
}

/// What the hunters of a pool have in common.
#[derive(Debug)]
struct Common {
    neighbours: Neighbours,
    wishes: Wishes,
}

/// A hunt's first attempts come as fast as they can, the later ones [`PACE`] apart.
const AT_ONCE: u32 = 16;
/// An attempt takes the line that the owner writes, so more of them would cost those who work.
const PACE: Duration = Duration::from_nanos(800);
/// Where nobody else wants the machine, a hunter fails so many times as often before it sleeps.
const PATIENCE: u32 = 4;
/// After so many attempts a hunter looks whether its last victim runs.
const LOOK_AFTER: u32 = 4;
/// Where nobody else wants the machine, a hunter yields after so many attempts (25 µs), a multiple of those: for whoever wakes
/// now and then, and would otherwise wait until the hunter's turn is over.
const YIELD_AFTER: u32 = 32;
/// A hunter pulls peers to its processor no more often than this: moving a thread costs 30 µs, and what it has in the caches.
const BETWEEN_PULLS: Duration = Duration::from_micros(100);
/// Nor does it move more often than this.
const BETWEEN_MOVES: Duration = Duration::from_millis(1);
/// How long the lookout sleeps: longer than the turn of another thread on the same processor (4 ms at most on kernels with
/// 250 clock ticks a second), so that a worker which waits for its turn does not look stuck. Behind three such turns it may.
const NAP: Duration = Duration::from_millis(10);

impl Balanced {
    /// A hunter sleeps after so many failed steals in a row.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        let common = Common { neighbours: Neighbours::new(), wishes: Wishes::default() };
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

impl Governor for Balanced {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn hunter(&self, worker: usize, workers: usize) -> Box<dyn Hunter> {
        self.common.wishes.prepare(workers);
        let now = Instant::now();
        Box::new(BalancedHunter {
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
        Limit { awake: processors, nap: NAP }
    }

    fn spreads(&self) -> bool {
        true
    }

    fn turn(&self) -> Option<Duration> {
        self.turn
    }
}

#[derive(Debug)]
struct BalancedHunter {
    worker: usize,
    sleep_threshold: u32,
    /// BWS's steal counter: failed steals.
    steals: u32,
    attempted: Instant,
    pulled: Instant,
    moved: Instant,
    common: Arc<Common>,
}

impl Hunter for BalancedHunter {
    fn next(&mut self, prospect: &Prospect<'_>) -> Move {
        if prospect.failures == 0 {
            self.steals = 0;
        }
        if prospect.workers == 1 || prospect.is_one_too_many() {
            return Move::Sleep;
        }
        self.steals += 1;
        if self.steals <= AT_ONCE.min(self.sleep_threshold) {
            return Move::Search;
        }
        let now = self.pause();
        if self.steals.is_multiple_of(LOOK_AFTER) {
            self.common.neighbours.look(now, prospect);
            let help = prospect.victim.and_then(|victim| self.help(victim, now, prospect));
            if let Some(help) = help {
                return help;
            }
            if self.steals.is_multiple_of(YIELD_AFTER) && self.common.neighbours.are_quiet() {
                return Move::Yield;
            }
        }
        if self.steals > self.patience() {
            // To sleep and to wake another would cost more than to stay.
            if !self.common.wishes.take(self.worker) {
                return Move::Sleep;
            }
            self.steals = 0;
        }
        Move::Search
    }

    fn hunt_ends(&mut self, prospect: &Prospect<'_>, end: End) {
        // This one is awake, so the limit leaves room for another if one less than so many are awake now.
        let has_room = prospect.asleep > 0 && prospect.others_awake() + 1 < prospect.processors;
        if end == End::Stole && has_room {
            self.common.wishes.add(self.worker, 2);
        }
    }
}

impl BalancedHunter {
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
    fn help(&mut self, victim: usize, now: Instant, prospect: &Prospect<'_>) -> Option<Move> {
        let wishes = &self.common.wishes;
        match prospect.activity(victim) {
            Activity::Works => {
                wishes.pass_on(victim, self.worker);
                self.give_way(victim, now, prospect)
            }
            Activity::Sleeps => wishes.take(self.worker).then_some(Move::Wake(victim)),
            Activity::Hunts => None,
        }
    }

    fn give_way(&mut self, victim: usize, now: Instant, prospect: &Prospect<'_>) -> Option<Move> {
        let is_quiet = self.common.neighbours.are_quiet();
        match prospect.standing(victim) {
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
