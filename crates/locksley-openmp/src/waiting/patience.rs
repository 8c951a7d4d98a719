//! How long a thread waits before it sleeps.

use std::cell::Cell;
use std::time::Duration;

use super::machine;
use crate::environment::settings;

/// For how long a thread spins: about twice what it takes to wake a thread on a halted virtual
/// processor.
const SPIN: Duration = Duration::from_micros(100);
/// The longest spin while other programs want processors. Members that run at the same time meet
/// within a fraction of it; to sleep and be woken takes twice as long.
const SPIN_BESIDE_OTHERS: Duration = Duration::from_micros(20);
/// For how long a thread yields to the others of a large team. A member that sleeps wakes late, and
/// delays those that wait for it.
const YIELD: Duration = Duration::from_millis(1);
/// How many instructions to pause are a pause. A thread that polls more often takes the cache line
/// from the one that is about to change it again (a barrier took half as long again).
const INSTRUCTIONS: u32 = 6;
/// How many pauses lie between two readings of the clock.
const PAUSES: u32 = 16;

thread_local! {
    /// For how long the thread's next wait beside others spins. Members that share a processor
    /// never meet while one of them spins: each wait that sleeps halves it, and each other one
    /// doubles it.
    static BESIDE_OTHERS: Cell<Duration> = const { Cell::new(SPIN_BESIDE_OTHERS) };
}

/// The pauses of one wait.
#[derive(Debug)]
pub(crate) struct Patience {
    pauses: u32,
    /// When the clock was first read, in nanoseconds.
    began: Option<u64>,
    /// The thread is to sleep.
    ends_in_sleep: bool,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { pauses: 0, began: None, ends_in_sleep: false }
    }

    /// Waits for a moment. False if the thread is to sleep now.
    pub(crate) fn pause(&mut self) -> bool {
        let goes_on = self.goes_on();
        self.ends_in_sleep = !goes_on;
        goes_on
    }

    fn goes_on(&mut self) -> bool {
        if settings().is_passive() {
            return false;
        }
        self.pauses += 1;
        let is_large = machine::is_oversubscribed();
        if !is_large && !self.pauses.is_multiple_of(PAUSES) {
            (0..INSTRUCTIONS).for_each(|_| std::hint::spin_loop());
            return true;
        }
        let now = machine::sample();
        let length = match (is_large, machine::is_contended()) {
            // Another program would keep a processor that it is given for its whole time slice.
            (true, true) => return false,
            (true, false) => YIELD,
            (false, true) => BESIDE_OTHERS.try_with(Cell::get).unwrap_or_default(),
            (false, false) => SPIN,
        };
        if is_large {
            // A preempted thread of the team gets the processor.
            std::thread::yield_now();
        }
        Duration::from_nanos(now - *self.began.get_or_insert(now)) < length
    }
}

/// Yields if this library has more threads than processors: unlike a wait, beside other programs,
/// too.
pub(super) fn yield_if_oversubscribed() {
    if machine::is_oversubscribed() {
        std::thread::yield_now();
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if self.pauses > 0 && machine::is_contended() {
            let double =
                |it: Duration| (2 * it).clamp(Duration::from_micros(1), SPIN_BESIDE_OTHERS);
            let next = |it| if self.ends_in_sleep { it / 2 } else { double(it) };
            let _ = BESIDE_OTHERS.try_with(|it| it.set(next(it.get())));
        }
    }
}
