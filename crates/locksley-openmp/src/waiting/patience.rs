//! How long a thread waits before it sleeps.

#[cfg(not(loom))]
use std::time::{Duration, Instant};

/// For how long a thread spins while no other thread wants its processor: about twice what it
/// takes to wake a thread on a halted virtual processor.
#[cfg(not(loom))]
const SPIN: Duration = Duration::from_micros(100);
/// How many pauses lie between two readings of the clock.
#[cfg(not(loom))]
const PAUSES: u32 = 64;
/// How often a thread yields to threads of its own program before it sleeps.
#[cfg(not(loom))]
const YIELDS: u32 = 2;

/// The pauses of one wait.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Patience {
    pauses: u32,
    yields: u32,
    until: Option<Instant>,
}

#[cfg(not(loom))]
impl Patience {
    pub(crate) fn new() -> Self {
        Self { pauses: 0, yields: 0, until: None }
    }

    /// Waits for a moment. False if the thread is to sleep now.
    pub(crate) fn pause(&mut self) -> bool {
        self.pauses += 1;
        if !self.pauses.is_multiple_of(PAUSES) {
            std::hint::spin_loop();
            return true;
        }
        super::machine::sample();
        if crate::environment::settings().is_passive || super::machine::is_contended() {
            // The kernel soon gives a processor to a thread that wakes up. One that yields to
            // another program waits until that has used up its time slice.
            return false;
        }
        if super::machine::is_oversubscribed() {
            self.yields += 1;
            // A preempted thread of the team gets the processor.
            std::thread::yield_now();
            return self.yields <= YIELDS;
        }
        let now = Instant::now();
        now < *self.until.get_or_insert(now + SPIN)
    }
}

/// In loom's models threads sleep at once.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Patience;

#[cfg(loom)]
impl Patience {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn pause(&mut self) -> bool {
        false
    }
}
