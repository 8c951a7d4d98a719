//! How long a thread waits before it sleeps.

use std::time::Duration;

use super::machine;
use crate::environment::settings;

/// For how long a thread spins while no other program wants a processor: about twice what it takes
/// to wake a thread on a halted virtual processor.
const SPIN: Duration = Duration::from_micros(100);
/// For how long a thread yields to the others of a large team. A member that sleeps wakes late, and
/// delays those that wait for it.
const YIELD: Duration = Duration::from_millis(1);
/// Spin hints per pause. A thread that polls more often takes the cache line from the one that is
/// about to change it again (a barrier took half as long again).
const HINTS: u32 = 6;
/// How many pauses lie between two readings of the clock: about 3 µs (96 hints took 2.6 µs).
const PAUSES: u32 = 16;

/// The pauses of one wait.
#[derive(Debug)]
pub(crate) struct Patience {
    pauses: u32,
    /// When the clock was first read, in nanoseconds.
    began: Option<u64>,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { pauses: 0, began: None }
    }

    /// Waits for a moment. False if the thread is to sleep now.
    pub(crate) fn pause(&mut self) -> bool {
        if settings().is_passive() {
            return false;
        }
        self.pauses += 1;
        let is_oversubscribed = machine::is_oversubscribed();
        if !is_oversubscribed && !self.pauses.is_multiple_of(PAUSES) {
            (0..HINTS).for_each(|_| std::hint::spin_loop());
            return true;
        }
        let now = machine::sample();
        if machine::is_contended() {
            // After a yield another program would keep the processor for its whole time slice. A
            // spin keeps it from a member that shares it, and from the other program, which takes
            // its share later.
            return false;
        }
        if is_oversubscribed {
            // A preempted thread of the team gets the processor.
            std::thread::yield_now();
        }
        let length = if is_oversubscribed { YIELD } else { SPIN };
        Duration::from_nanos(now - *self.began.get_or_insert(now)) < length
    }
}

/// Yields if this library has more threads than processors, also while other programs want
/// processors, in which case a wait sleeps.
pub(super) fn yield_if_oversubscribed() {
    if machine::is_oversubscribed() {
        std::thread::yield_now();
    }
}
