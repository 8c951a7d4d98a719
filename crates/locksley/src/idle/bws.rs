//! The policy of BWS in its pure form.

use std::sync::Arc;

use super::governor::{End, Governor, Hunter, Move};
use super::prospect::{Activity, Prospect};
use super::wishes::Wishes;
use crate::os::Standing;

/// Algorithm 2 of BWS (Ding, Wang, Gibbons, Zhang: "BWS: Balanced Work Stealing for Time-Sharing Multicores", EuroSys 2012,
/// section 3.2): hunters hand their processor to peers that were preempted while they had work, sleep after a number of
/// failed steals, and wake others when steals succeed.
///
/// What the paper added to the kernel is replaced by what an ordinary one tells and does
/// ([`Assists`](crate::os::Assists)); and there is no watchdog, since the pool itself sees to it that no task is left
/// alone.
///
/// # Examples
/// ```
/// use locksley::{Pool, idle::Bws};
///
/// let pool = Pool::builder().workers(2).governor(Bws::with_threshold(256)).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Bws {
    sleep_threshold: u32,
    wishes: Arc<Wishes>,
}

impl Bws {
    /// The paper's threshold.
    pub const SLEEP_THRESHOLD: u32 = 64;

    /// A hunter sleeps after so many failed steals in a row, unless somebody wishes for it.
    #[must_use]
    pub fn with_threshold(sleep_threshold: u32) -> Self {
        Self { sleep_threshold, wishes: Arc::default() }
    }
}

impl Default for Bws {
    /// With the paper's threshold, [`SLEEP_THRESHOLD`](Self::SLEEP_THRESHOLD).
    fn default() -> Self {
        Self::with_threshold(Self::SLEEP_THRESHOLD)
    }
}

impl Governor for Bws {
    fn name(&self) -> &'static str {
        "bws"
    }

    fn hunter(&self, worker: usize, workers: usize) -> Box<dyn Hunter> {
        self.wishes.prepare(workers);
        let wishes = Arc::clone(&self.wishes);
        Box::new(BwsHunter { worker, sleep_threshold: self.sleep_threshold, steals: 0, wishes })
    }
}

#[derive(Debug)]
struct BwsHunter {
    worker: usize,
    sleep_threshold: u32,
    /// The paper's steal counter: failed steals.
    steals: u32,
    wishes: Arc<Wishes>,
}

impl Hunter for BwsHunter {
    fn next(&mut self, prospect: &Prospect<'_>) -> Move {
        let Some(victim) = prospect.victim.filter(|_| prospect.failures > 0) else {
            self.steals = 0;
            return if prospect.workers > 1 { Move::Search } else { Move::Sleep };
        };
        self.steals += 1;
        if self.steals > self.sleep_threshold {
            self.steals = 0;
            if !self.wishes.take(self.worker) {
                return Move::Sleep;
            }
        }
        match prospect.activity(victim) {
            Activity::Works => match prospect.standing(victim) {
                Standing::WaitsHere | Standing::WaitsElsewhere => return Move::HandOver(victim),
                _ => self.wishes.pass_on(victim, self.worker),
            },
            Activity::Sleeps if self.wishes.take(self.worker) => return Move::Wake(victim),
            Activity::Sleeps | Activity::Hunts => {}
        }
        Move::Search
    }

    fn hunt_ends(&mut self, _prospect: &Prospect<'_>, end: End) {
        if end == End::Stole {
            self.wishes.add(self.worker, 2);
        }
        self.steals = 0;
    }
}
