//! The counters and times of a pool.

use std::time::Duration;

use super::Shared;
use super::slot::SlotState;
use crate::idle::Activity;
use crate::limits::Sample;
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

    /// Samples some threads that have a task.
    pub(crate) fn sample(&self) -> Sample {
        let slots = self.taken().enumerate();
        let active = slots.filter(|(_, slot)| slot.activity() == Activity::Works);
        let mut sample = Sample { ran: Some(Duration::ZERO), ..Sample::default() };
        for (number, slot) in active.take(SAMPLED_WORKERS) {
            let progress = slot.progress();
            sample.workers.push(number);
            sample.ran = sample.ran.zip(progress).map(|(ran, it)| ran + it.processor_time);
            sample.blocked += usize::from(progress.is_some_and(|it| it.is_blocked));
        }
        sample
    }
}
