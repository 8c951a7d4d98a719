//! The policy of BWS, and its wake-up counters: successful thieves request wake-ups, and other
//! thieves carry them out.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::policy::{Activity, End, IdleContext, IdlePolicy, Move, Thief};
use crate::os::RunState;
use crate::primitive::CachePadded;
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
        let policy = Self { pending_wakeups, ..*self };
        Box::new(BwsThief { worker, failed_steals: 0, policy })
    }
}

#[derive(Debug)]
struct BwsThief {
    worker: usize,
    /// The paper's steal counter.
    failed_steals: u32,
    policy: Bws,
}

impl Thief for BwsThief {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let pending_wakeups = &self.policy.pending_wakeups;
        if context.failures == 0 || context.workers == 1 {
            self.failed_steals = 0;
            return if context.workers > 1 { Move::Search } else { Move::Sleep };
        }
        self.failed_steals += 1;
        if self.failed_steals > self.policy.sleep_threshold {
            self.failed_steals = 0;
            if !pending_wakeups.take(self.worker) {
                return Move::Sleep;
            }
        }
        // `None` for a replacement.
        let Some(victim) = context.victim else { return Move::Search };
        match context.activity(victim) {
            Activity::Works => match context.run_state(victim) {
                RunState::WaitsHere => return Move::HandOver(victim),
                _ => pending_wakeups.take_over(self.worker, victim),
            },
            Activity::Sleeps if pending_wakeups.take(self.worker) => {
                return Move::Wake(victim);
            }
            Activity::Sleeps | Activity::Searches => {}
        }
        Move::Search
    }

    fn search_ends(&mut self, _context: &IdleContext<'_>, end: End) {
        if end == End::Stole {
            self.policy.pending_wakeups.add(self.worker, 2);
        }
    }
}

/// The wake-up counters of BWS (section 3.2): the number of sleepers that each worker wants woken.
///
/// Thieves take requests over from workers with work, which spend no time on them. A lost or
/// doubled request wakes one worker less or more, and no task depends on it, so accesses are
/// relaxed.
#[derive(Debug, Default)]
pub(super) struct PendingWakeups(OnceLock<Box<[CachePadded<AtomicU32>]>>);

impl PendingWakeups {
    /// Allocates the counters, once. Every worker calls this before any other method.
    pub(super) fn prepare(&self, workers: usize) {
        let _ = self.0.get_or_init(|| (0..workers).map(|_| CachePadded::default()).collect());
    }

    fn of(&self, worker: usize) -> Option<&AtomicU32> {
        self.0.get()?.get(worker).map(|padded| &**padded)
    }

    pub(super) fn add(&self, worker: usize, number: u32) {
        if let Some(pending_wakeups) = self.of(worker) {
            pending_wakeups.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Takes one request of `worker`. Returns true if there was one.
    pub(super) fn take(&self, worker: usize) -> bool {
        let less = |pending_wakeups: u32| pending_wakeups.checked_sub(1);
        self.of(worker).is_some_and(|pending_wakeups| {
            pending_wakeups.load(Ordering::Relaxed) > 0
                && pending_wakeups.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        })
    }

    /// Moves one request of `victim`, if there is one, to `thief`.
    pub(super) fn take_over(&self, thief: usize, victim: usize) {
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
