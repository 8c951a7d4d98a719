//! What the workers of a pool did beside the work itself.

use std::ops::Sub;
use std::time::Duration;

use locksley::Pool;
use serde::{Deserialize, Serialize};

/// What all workers of a pool did since it was built, or between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Tasks taken from other workers.
    pub steals: u64,
    /// Attempts to do so that brought nothing.
    pub failed_steals: u64,
    /// Times that a worker let others have its processor.
    pub yields: u64,
    /// Times that a worker slept.
    pub sleeps: u64,
    /// Where the workers' time went, if the runtime meters it.
    pub times: Option<Times>,
}

/// Times of all workers together, in seconds, by the clock on the wall: a worker that is off its
/// processor hunts or waits as long as it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Looking for work, awake.
    pub hunting: f64,
    /// Waiting for the lock of a deque.
    pub locks: f64,
}

/// The context switches of a pool's workers, by the thread that got the processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// They brought back a worker that looked for work.
    pub to_hunter: u64,
    /// They took the processor from a worker with work, or a hunter that shared it with no other
    /// worker yielded it.
    pub external: u64,
}

impl Split {
    /// Those since `pool` was built.
    pub(super) fn of(pool: &Pool) -> Option<Split> {
        let total = pool.stats().total();
        let external = total.switches?.saturating_sub(total.to_thief);
        Some(Split { to_hunter: total.to_thief, external })
    }
}

impl Sub for Split {
    type Output = Split;

    fn sub(self, earlier: Split) -> Split {
        Split {
            to_hunter: self.to_hunter.saturating_sub(earlier.to_hunter),
            // While a hunt goes on, switches to its hunter may not have been accounted for.
            external: self.external.saturating_sub(earlier.external),
        }
    }
}

impl Effort {
    /// What `pool` did since it was built.
    pub(super) fn of(pool: &Pool) -> Effort {
        let total = pool.stats().total();
        Effort {
            steals: total.steals,
            failed_steals: total.failed_steals,
            yields: total.yields,
            sleeps: total.sleeps,
            times: Some(Times::new(total.searching, total.lock_wait)),
        }
    }
}

impl Times {
    /// From what the workers metered.
    #[must_use]
    pub fn new(hunting: Duration, locks: Duration) -> Times {
        Times { hunting: hunting.as_secs_f64(), locks: locks.as_secs_f64() }
    }
}

impl Sub for Effort {
    type Output = Effort;

    fn sub(self, earlier: Effort) -> Effort {
        let times = self.times.zip(earlier.times).map(|(now, earlier)| Times {
            hunting: (now.hunting - earlier.hunting).max(0.0),
            locks: (now.locks - earlier.locks).max(0.0),
        });
        Effort {
            steals: self.steals - earlier.steals,
            failed_steals: self.failed_steals - earlier.failed_steals,
            yields: self.yields - earlier.yields,
            sleeps: self.sleeps - earlier.sleeps,
            times,
        }
    }
}
