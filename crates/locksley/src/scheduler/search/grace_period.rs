//! The grace period: a thief leaves the only task of a worker alone if that probably runs it next.

use std::time::Duration;

use super::searcher::Searcher;
use crate::idle::Peers;
use crate::primitive::{Instant, spin_loop};
use crate::scheduler::Worker;

/// About the cost of a hand-over; longer than most polls that wake one task.
const GRACE_PERIOD: Duration = Duration::from_micros(2);
/// The same while other programs want the processors. The task may be one that meets others at
/// barriers: they all stand still when its thief loses the processor.
const BESIDE_OTHERS: Duration = Duration::from_micros(100);

impl Searcher {
    /// Returns true if the thief leaves the worker in slot `victim` alone. If the worker has one
    /// task only, which its present task made ready, the thief waits for the grace period. If there
    /// is another such task then, the worker makes progress by itself.
    pub(super) fn leave_to_owner(&mut self, worker: &Worker, victim: usize) -> bool {
        let shared = worker.shared();
        let lone_next_task = || shared.slot(victim).lone_next_task();
        let Some(next) = lone_next_task() else { return false };
        let since = Instant::now();
        let is_busy = shared.runnable_threads().is_some_and(|it| it > shared.processors());
        let period = if is_busy { BESIDE_OTHERS } else { GRACE_PERIOD };
        while lone_next_task() == Some(next) && since.elapsed() < period {
            if is_busy { self.yield_to_others(worker) } else { spin_loop() }
        }
        lone_next_task().is_some_and(|now| now != next)
    }
}
