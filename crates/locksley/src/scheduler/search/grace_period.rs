//! The grace period: a thief leaves a worker's only task to it, if it probably runs that next.

use std::time::Duration;

use super::searcher::Searcher;
use crate::idle::Peers;
use crate::primitive::{Instant, spin_loop};
use crate::scheduler::Worker;

/// About the cost of moving a task between threads. Longer than most polls that wake one task.
const GRACE_PERIOD: Duration = Duration::from_micros(2);
/// The same while other programs want the processors. Tasks that share a barrier with a stolen one
/// stall while its thief is preempted.
const BESIDE_OTHERS: Duration = Duration::from_micros(100);

impl Searcher {
    /// Returns true if the thief should not steal from the worker in slot `victim`. If its only
    /// task was spawned or made ready by the running one, the thief waits for the grace period. If
    /// another such task has replaced it then, the worker makes progress by itself.
    pub(super) fn leave_to_owner(&mut self, worker: &Worker, victim: usize) -> bool {
        let shared = worker.shared();
        let lone_next_task = || shared.slot(victim).lone_next_task();
        let Some(next) = lone_next_task() else { return false };
        let since = Instant::now();
        let awake = shared.workers.saturating_sub(shared.sleep.snapshot().asleep());
        let own = awake.max(shared.processors());
        let is_busy = shared.runnable_threads().is_some_and(|runnable| runnable > own);
        let period = if is_busy { BESIDE_OTHERS } else { GRACE_PERIOD };
        while lone_next_task() == Some(next) && since.elapsed() < period {
            if is_busy { self.yield_to_others(worker) } else { spin_loop() }
        }
        lone_next_task().is_some_and(|now| now != next)
    }
}
