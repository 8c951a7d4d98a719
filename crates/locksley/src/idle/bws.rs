//! The policy of BWS.

use std::sync::Arc;

use super::context::{Activity, IdleContext};
use super::pending_wakeups::PendingWakeups;
use super::policy::{End, IdlePolicy, Move, Thief};
use crate::os::RunState;
use crate::tuning::SLEEP_THRESHOLD;

/// Algorithm 2 of BWS: thieves hand their processor to preempted peers that have work.
///
/// A thief sleeps after a number of failed steals, and has two sleepers woken after a successful
/// one. The paper's kernel extension is replaced by what an unmodified kernel offers
/// ([`Assists`](crate::os::Assists)). The steal counter is compared with the threshold before the
/// victim is looked at, and not after it. The paper also has
/// a watchdog, a thief that never sleeps and so notices new work. The pool's sleep protocol loses
/// no wake-up, so there is none here. Use this policy to compare with
/// [`Balanced`](super::Balanced), which adds to it.
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
    /// Sets the threshold. A thief sleeps after `sleep_threshold` + 1 failed steals in a row. If it
    /// has a pending wake-up request then, it takes that instead, and counts from 0 again.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        Self { sleep_threshold, pending_wakeups: Arc::default() }
    }
}

impl Default for Bws {
    /// With the paper's threshold of 64 failed steals.
    fn default() -> Self {
        Self::with_threshold(SLEEP_THRESHOLD)
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
            failed_steals: 0,
            pending_wakeups,
        })
    }
}

#[derive(Debug)]
struct BwsThief {
    worker: usize,
    sleep_threshold: u32,
    /// The paper's steal counter.
    failed_steals: u32,
    pending_wakeups: Arc<PendingWakeups>,
}

impl Thief for BwsThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures == 0 || context.workers == 1 {
            self.failed_steals = 0;
            return if context.workers > 1 { Move::Search } else { Move::Sleep };
        }
        self.failed_steals += 1;
        if self.failed_steals > self.sleep_threshold {
            self.failed_steals = 0;
            if !self.pending_wakeups.take(self.worker) {
                return Move::Sleep;
            }
        }
        // `None` for a replacement.
        let Some(victim) = context.victim else { return Move::Search };
        match context.activity(victim) {
            Activity::Works => match context.run_state(victim) {
                RunState::WaitsHere => return Move::HandOver(victim),
                _ => self.pending_wakeups.take_over(self.worker, victim),
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
