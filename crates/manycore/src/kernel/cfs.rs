//! The completely fair scheduler of Linux 2.6.23 to 6.5.

use super::config::MILLISECOND;
use crate::ids::Nanos;

/// Options of the completely fair scheduler. Times are scaled with the number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cfs {
    /// The period in which each thread of a queue should run once (`sched_latency_ns`).
    pub latency: Nanos,
    /// The shortest slice (`sched_min_granularity_ns`).
    pub min_granularity: Nanos,
    /// A woken thread preempts if it is behind the current one by more than this
    /// (`sched_wakeup_granularity_ns`).
    pub wakeup_granularity: Nanos,
    /// True: a sleeper's credit is half the latency instead of all of it
    /// (`GENTLE_FAIR_SLEEPERS`, since 2.6.32).
    pub gentle_sleepers: bool,
    /// What `sched_yield` does.
    pub yielding: CfsYield,
}

/// What `sched_yield` does under CFS, if other threads are in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfsYield {
    /// The thread stays where it is in the order, and goes on if it is still the first: 2.6.23 to
    /// 2.6.38 with `sched_compat_yield=0`.
    Stay,
    /// The thread goes to the end of the queue, as with the O(1) scheduler before 2.6.23: 2.6.23 to
    /// 2.6.38 with `sched_compat_yield=1`. The BWS paper has this on 2.6.36.
    Compat,
    /// The next choice skips the thread, unless the second one is ahead by more than the wake-up
    /// granularity: since 2.6.39.
    Skip,
}

impl Default for Cfs {
    fn default() -> Self {
        Self {
            latency: 6 * MILLISECOND,
            min_granularity: MILLISECOND * 3 / 4,
            wakeup_granularity: MILLISECOND,
            gentle_sleepers: true,
            yielding: CfsYield::Skip,
        }
    }
}
