//! Idle policies for tests. Integration tests and unit tests of several crates include this file.

#![allow(dead_code, reason = "each test uses a part")]

use locksley::idle::{Activity, IdleContext, IdlePolicy, Move, Thief};
use locksley::os::RunState;

/// Yields after every `attempts` failed attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yielding {
    pub(crate) attempts: u64,
    /// The number of yields in a row after which the worker sleeps. `None`: never.
    pub(crate) sleep_after: Option<u64>,
}

/// Yields now and then, and never sleeps.
pub(crate) const SLEEPLESS: Yielding = Yielding { attempts: 64, sleep_after: None };

/// Searches only: it neither yields nor sleeps.
pub(crate) const RESTLESS: Yielding = Yielding { attempts: u64::MAX, sleep_after: None };

/// Sleeps after one failed attempt: the most parking and waking that a program can cause.
pub(crate) const SLEEPY: Yielding = Yielding { attempts: 1, sleep_after: Some(0) };

impl IdlePolicy for Yielding {
    fn name(&self) -> &'static str {
        "yielding"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for Yielding {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        let yields = context.failures / self.attempts;
        if self.sleep_after.is_some_and(|sleep_after| yields > sleep_after) {
            Move::Sleep
        } else if context.failures > 0 && context.failures % self.attempts == 0 {
            Move::Yield
        } else {
            Move::Search
        }
    }
}

/// Looks at the victim of each failed attempt: gives its processor to one that has work and waits
/// for it, and wakes one that sleeps. Sleeps itself after `attempts` failed attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Helping {
    pub(crate) attempts: u64,
}

impl IdlePolicy for Helping {
    fn name(&self) -> &'static str {
        "helping"
    }
    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for Helping {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures > self.attempts {
            return Move::Sleep;
        }
        let Some(victim) = context.victim else { return Move::Search };
        match context.activity(victim) {
            Activity::Works if context.run_state(victim) == RunState::WaitsHere => {
                Move::HandOver(victim)
            }
            // Two sleepers would wake each other for ever.
            Activity::Sleeps if victim > context.worker => Move::Wake(victim),
            _ => Move::Search,
        }
    }
}
