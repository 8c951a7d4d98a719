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
        // Guests have no thread of the pool.
        let threads = active.filter_map(|(number, slot)| Some((number, slot, slot.thread()?)));
        let mut sample = Sample { ran: Some(Duration::ZERO), ..Sample::default() };
        for (number, slot, thread) in threads.take(SAMPLED_WORKERS) {
            let progress = slot.progress();
            sample.workers.push(number);
            sample.ran = sample.ran.zip(progress).map(|(ran, it)| ran + it.processor_time);
            sample.waited += thread.delay.read().unwrap_or_default();
            sample.blocked += usize::from(progress.is_some_and(|it| it.is_blocked));
        }
        sample
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use crate::{Pool, Worker};

    #[test]
    fn only_threads_of_the_pool_that_have_a_task_are_sampled() {
        let pool = Pool::builder().workers(3).build().unwrap();
        let shared = pool.shared_now();
        // The slots of guests lie behind those of workers, and before those of replacements.
        let (guest, deque) = shared.take_slot_of_guest().unwrap();
        let (to, from) = std::sync::mpsc::channel();
        let own = Arc::clone(shared);
        pool.spawn(move |_: &Worker| to.send(own.sample()).unwrap());
        let sample = from.recv().unwrap();
        shared.slot(guest).put_back(deque);
        assert!(!sample.workers.is_empty() && sample.workers.iter().all(|&slot| slot < 3));
    }
}
