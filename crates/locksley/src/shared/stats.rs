//! The counters and times of a pool.

use std::time::Duration;

use super::Shared;
use super::slot::SlotState;
use crate::idle::Activity;
use crate::stats::{PoolStats, WorkerStats};
use crate::tuning::SAMPLED_WORKERS;

impl Shared {
    /// Reads the counters and times of all workers. Reads a file for each worker where the system
    /// tells how long it waited for a processor.
    pub(crate) fn stats(&self) -> PoolStats {
        let guests = self.workers..self.first_replacement();
        let stats = |(number, slot): (usize, &SlotState)| {
            let off_processor = slot.thread().and_then(|thread| thread.delay.read());
            let stats = WorkerStats { off_processor, ..slot.stats() };
            // Guests have no clocks of the pool.
            if guests.contains(&number) { stats.or_zero() } else { stats }
        };
        let workers = self.taken().enumerate().map(stats).collect();
        let (idle_policy, bound_workers) = (self.config.idle_policy.name(), self.bound_workers());
        PoolStats { idle_policy, bound_workers, workers, queued: self.queued().sum() }
    }

    /// The number of tasks in each deque, as thieves see them.
    pub(crate) fn queued(&self) -> impl Iterator<Item = usize> {
        self.taken().map(SlotState::deque_len)
    }

    /// Adds up, over some threads that have a task, how long each has run or waited for a processor
    /// since it started. Returns the slots that were sampled, and the time; `None` where the system
    /// does not tell.
    pub(crate) fn sample_busy(&self) -> (Vec<usize>, Option<Duration>) {
        let slots = self.taken().enumerate();
        let active = slots.filter(|(_, slot)| slot.activity() == Activity::Works);
        let threads = active.filter_map(|(number, slot)| Some((number, slot.thread()?)));
        let (mut sampled, mut busy) = (Vec::new(), Some(Duration::ZERO));
        for (number, thread) in threads.take(SAMPLED_WORKERS) {
            let (ran, waited) = (thread.clock.read(), thread.delay.read());
            busy = busy.zip(ran).map(|(busy, ran)| busy + ran + waited.unwrap_or_default());
            sampled.push(number);
        }
        (sampled, busy)
    }
}
