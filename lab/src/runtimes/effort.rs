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

/// Times of all workers together, in seconds, by the clock on the wall: a worker that is off its processor hunts or waits
/// as long as it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Looking for work, awake.
    pub hunting: f64,
    /// Waiting for the lock of a deque.
    pub locks: f64,
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
            times: Some(Times::new(total.hunting, lock_wait(pool))),
        }
    }
}

/// How long the workers waited for locks of deques. No pool has such deques yet: this is the one place to change when
/// one can be given them and says how long its workers waited.
fn lock_wait(_pool: &Pool) -> Duration {
    Duration::ZERO
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
