//! How long a thread waits before it sleeps.

#[cfg(not(loom))]
use std::time::{Duration, Instant};

#[cfg(not(loom))]
use super::machine;
#[cfg(not(loom))]
use crate::environment::settings;

/// For how long a thread spins or yields while no other program wants its processor: about twice
/// what it takes to wake a thread on a halted virtual processor.
#[cfg(not(loom))]
const AWAKE: Duration = Duration::from_micros(100);
/// How many instructions to pause are a pause. A thread that polls more often takes the cache line
/// from the one that is about to change it again (a barrier took half as long again).
#[cfg(not(loom))]
const INSTRUCTIONS: u32 = 6;
/// How many pauses lie between two readings of the clock.
#[cfg(not(loom))]
const PAUSES: u32 = 16;

/// The pauses of one wait.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Patience {
    pauses: u32,
    until: Option<Instant>,
}

#[cfg(not(loom))]
impl Patience {
    pub(crate) fn new() -> Self {
        Self { pauses: 0, until: None }
    }

    /// Waits for a moment. False if the thread is to sleep now.
    pub(crate) fn pause(&mut self) -> bool {
        self.pauses += 1;
        let is_oversubscribed = machine::is_oversubscribed();
        let is_passive = settings().is_passive() || machine::is_contended();
        if !is_passive && !is_oversubscribed && !self.pauses.is_multiple_of(PAUSES) {
            (0..INSTRUCTIONS).for_each(|_| std::hint::spin_loop());
            return true;
        }
        machine::sample();
        if is_passive {
            // The kernel soon gives a processor to a thread that wakes up. One that yields to
            // another program waits until that has used up its time slice.
            return false;
        }
        if is_oversubscribed {
            // A preempted thread of the team gets the processor.
            std::thread::yield_now();
        }
        let now = Instant::now();
        now < *self.until.get_or_insert(now + AWAKE)
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
