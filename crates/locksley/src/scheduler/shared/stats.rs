//! The counters and times of a pool.

use std::time::Duration;

use super::Shared;
use crate::idle::Activity;
use crate::os::ThreadDelay;
use crate::scheduler::Slot;
use crate::stats::{PoolStats, WorkerStats};

impl Shared {
    /// Reads the counters and times of all workers. Reads a file for each worker where the system
    /// tells how long it waited for a processor.
    pub(crate) fn stats(&self) -> PoolStats {
        let external = self.workers..self.first_replacement();
        let stats = |(number, slot): (usize, &Slot)| {
            let off_processor = slot.delay.get().and_then(ThreadDelay::read);
            let stats = WorkerStats { off_processor, ..slot.stats() };
            // External threads have no clocks of the pool.
            if external.contains(&number) { stats.or_zero() } else { stats }
        };
        let workers = self.taken().enumerate().map(stats).collect();
        let (idle_policy, bound_workers) = (self.config.idle_policy.name(), self.bound_workers());
        PoolStats { idle_policy, bound_workers, workers, queued: self.queued().sum() }
    }

    /// The number of tasks in each deque, as thieves see them.
    pub(crate) fn queued(&self) -> impl Iterator<Item = usize> {
        self.taken().map(|slot| slot.deque_len())
    }

    /// The time that the first `number` workers, without borrowed threads, have waited for a
    /// processor, all together. `None` where the system does not tell. Reads a file for each.
    pub(crate) fn processor_wait_of_first(&self, number: usize) -> Option<Duration> {
        let slots = self.taken().skip(self.config.borrowed_threads()).take(number);
        let waits = slots.filter_map(|slot| slot.delay.get()?.read());
        waits.reduce(|all, one| all + one)
    }

    /// The processor time of all workers that have not ended. `None` where the system does not
    /// tell.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        // A borrowed thread may have ended.
        let clocks = self.taken().filter_map(|slot| slot.clock.get()?.read());
        clocks.reduce(|all, one| all + one)
    }

    /// Has the kernel account for the processor time that awake workers have used until now.
    /// Returns the number of clocks that could be read.
    pub(crate) fn update_clocks(&self) -> usize {
        let awake = self.taken().filter(|slot| slot.activity() != Activity::Sleeps);
        awake.filter_map(|slot| slot.clock.get()?.read()).count()
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, locksley_portable))))]
mod tests {
    use crate::Pool;

    #[test]
    fn the_waits_of_the_first_workers_are_added_up() {
        let pool = Pool::new(3).unwrap();
        // All workers have begun when this returns.
        pool.broadcast(|_| ());
        let shared = pool.shared();
        // The times only grow meanwhile.
        let by_one = |slot: usize| shared.slot(slot).delay.get()?.read();
        let of_two = || by_one(0).zip(by_one(1)).map(|(one, other)| one + other);
        let (before, together, after) = (of_two(), shared.processor_wait_of_first(2), of_two());
        assert!(before <= together && together <= after, "{before:?} {together:?} {after:?}");
        assert_eq!(together.is_some(), crate::os::ThreadDelay::of_this_thread().read().is_some());
        assert_eq!(shared.processor_wait_of_first(0), None);
    }
}
