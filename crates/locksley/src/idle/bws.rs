//! The policy of BWS in its pure form.

use std::sync::Arc;

use super::context::{Activity, IdleContext};
use super::pending_wakeups::PendingWakeups;
use super::policy::{End, IdlePolicy, Move, Thief};
use crate::os::Standing;

/// Algorithm 2 of BWS: thieves hand their processor to preempted peers that have work.
///
/// A thief sleeps after a number of failed steals, and has two sleepers woken after a successful
/// one. The paper's kernel extension is replaced by what an unmodified kernel offers
/// ([`Assists`](crate::os::Assists)). There is no watchdog, because the pool's sleep protocol loses
/// no wake-up. Use it to compare with [`Balanced`](super::Balanced), which adds to it.
///
/// Source: Ding, Wang, Gibbons and Zhang, "BWS: Balanced Work Stealing for Time-Sharing
/// Multicores", EuroSys 2012, section 3.2.
///
/// # Examples
/// ```
/// use locksley::{Pool, idle::Bws};
///
/// let pool = Pool::builder().workers(2).idle_policy(Bws::with_threshold(256)).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Bws {
    sleep_threshold: u32,
    pending_wakeups: Arc<PendingWakeups>,
}

impl Bws {
    /// Sets the number of failed steals in a row after which a thief sleeps. A thief with a pending
    /// wake-up request starts to count again instead.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        Self { sleep_threshold, pending_wakeups: Arc::default() }
    }
}

impl Default for Bws {
    /// With the paper's threshold of 64 failed steals.
    fn default() -> Self {
        Self::with_threshold(64)
    }
}

impl IdlePolicy for Bws {
    fn name(&self) -> &'static str {
        "bws"
    }

    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief> {
        self.pending_wakeups.prepare(workers);
        let pending_wakeups = Arc::clone(&self.pending_wakeups);
        Box::new(BwsThief {
            worker,
            sleep_threshold: self.sleep_threshold,
            steals: 0,
            pending_wakeups,
        })
    }
}

#[derive(Debug)]
struct BwsThief {
    worker: usize,
    sleep_threshold: u32,
    /// The paper's steal counter: the number of failed steals.
    steals: u32,
    pending_wakeups: Arc<PendingWakeups>,
}

impl Thief for BwsThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let Some(victim) = context.victim.filter(|_| context.failures > 0) else {
            self.steals = 0;
            return if context.workers > 1 { Move::Search } else { Move::Sleep };
        };
        self.steals += 1;
        if self.steals > self.sleep_threshold {
            self.steals = 0;
            if !self.pending_wakeups.take(self.worker) {
                return Move::Sleep;
            }
        }
        match context.activity(victim) {
            Activity::Works => match context.standing(victim) {
                Standing::WaitsHere | Standing::WaitsElsewhere => return Move::HandOver(victim),
                _ => self.pending_wakeups.pass_on(victim, self.worker),
            },
            Activity::Sleeps if self.pending_wakeups.take(self.worker) => {
                return Move::Wake(victim);
            }
            Activity::Sleeps | Activity::Searches => {}
        }
        Move::Search
    }

    fn search_ends(&mut self, _context: &IdleContext<'_>, end: End) {
        if end == End::Stole {
            self.pending_wakeups.add(self.worker, 2);
        }
    }
}
