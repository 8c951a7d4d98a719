//! Earliest eligible virtual deadline first, as in Linux 6.12 to 6.18.

use super::config::MICROSECOND;
use crate::ids::Nanos;

/// Options of the EEVDF scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eevdf {
    /// The slice of a thread that asks for none, before it is scaled with the number of processors.
    /// Linux: 0.75 ms until 6.14, 0.7 ms since (2.8 ms on 8 processors or more).
    pub base_slice: Nanos,
    /// True: the current thread runs until its slice ends or its lag is 0 (`RUN_TO_PARITY`).
    pub run_to_parity: bool,
    /// True: a thread that sleeps while it is ahead stays in its queue until it is eligible
    /// (`DELAY_DEQUEUE`, since 6.12).
    pub delay_dequeue: bool,
    /// True: a thread with a shorter slice may preempt earlier (`PREEMPT_SHORT`, since 6.12).
    pub preempt_short: bool,
    /// What `sched_yield` does.
    pub yielding: EevdfYield,
}

/// What `sched_yield` does under EEVDF, if other threads are in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EevdfYield {
    /// The deadline moves by a slice: 6.6 to 6.18.1, 6.12 to 6.12.62. The thread goes on if it is
    /// the only eligible one.
    Deadline,
    /// If the thread is eligible, it forfeits the rest of its slice: its virtual run time moves to
    /// its deadline, and the deadline by a slice. Since 6.19, 6.18.2 and 6.12.63.
    Forfeit,
}

impl Default for Eevdf {
    fn default() -> Self {
        Self {
            base_slice: 700 * MICROSECOND,
            run_to_parity: true,
            delay_dequeue: true,
            preempt_short: true,
            yielding: EevdfYield::Forfeit,
        }
    }
}
