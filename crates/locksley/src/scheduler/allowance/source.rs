//! Where a pool reads what the system allows.

use std::sync::Arc;
use std::time::Duration;

use super::READING_INTERVAL;
use super::contention::SAMPLED_WORKERS;
use crate::os::{self, LimitFault, Quota, QuotaWatch, ThreadAffinity};
use crate::scheduler::Shared;

/// What the system allows. One worker at a time calls it. `None` means that the system does not
/// say.
pub(crate) trait Source: Send {
    /// The number of processors that any of the pool's workers may run on.
    fn processors(&mut self, shared: &Shared) -> Option<usize>;

    /// The quota of processor time of the process, if it has one.
    fn quota(&mut self) -> Option<Quota>;

    /// The number of periods in which the quota was used up.
    fn throttled_periods(&mut self, quota: &Quota) -> Option<u64>;

    /// The processor time of the process, including the current usage of awake workers.
    fn processor_time(&mut self, shared: &Shared) -> Option<Duration>;

    /// The total time for which the first workers were runnable without running.
    fn processor_wait(&mut self, shared: &Shared) -> Option<Duration> {
        let _ = shared;
        None
    }

    /// The processor time of the process, at little cost. The usage of its other threads in the
    /// last milliseconds may be missing.
    fn process_time(&mut self) -> Option<Duration> {
        os::process_time()
    }

    /// The time between two readings of the system limits.
    fn interval(&self) -> Duration {
        READING_INTERVAL
    }
}

/// Opens the source of a pool.
pub(crate) type OpenSource = Arc<dyn Fn() -> Box<dyn Source> + Send + Sync>;

/// Opens the operating system.
pub(crate) fn system() -> Box<dyn Source> {
    Box::new(System::open())
}

/// The operating system.
#[derive(Debug)]
pub(super) struct System {
    watch: QuotaWatch,
    quota: LastQuota,
    /// How many workers' clocks the last reading of the usage has updated.
    clocks_read: usize,
}

impl System {
    pub(super) fn open() -> Self {
        let watch = QuotaWatch::of_this_process();
        let (quota, faults) = watch.quota();
        let quota = LastQuota { quota, known_faults: faults };
        Self { watch, quota, clocks_read: 0 }
    }

    /// How many workers' clocks the last reading of the usage has updated.
    #[cfg(all(test, target_os = "linux", not(any(loom, locksley_portable))))]
    pub(super) fn clocks_read(&self) -> usize {
        self.clocks_read
    }
}

/// The quota of the last reading without new faults.
#[derive(Debug)]
struct LastQuota {
    quota: Option<Quota>,
    /// The faults of the first reading.
    known_faults: Vec<LimitFault>,
}

impl LastQuota {
    /// Enters a reading, and returns the quota that holds. A reading that fails, for example
    /// because no more files can be opened, does not lift a quota.
    fn update(&mut self, quota: Option<Quota>, faults: &[LimitFault]) -> Option<Quota> {
        if faults.iter().all(|fault| self.known_faults.contains(fault)) {
            self.quota = quota;
        }
        self.quota.clone()
    }
}

impl Source for System {
    fn processors(&mut self, shared: &Shared) -> Option<usize> {
        ThreadAffinity::count_union(shared.affinities_of_workers())
    }

    fn quota(&mut self) -> Option<Quota> {
        let (quota, faults) = self.watch.quota();
        self.quota.update(quota, &faults)
    }

    fn throttled_periods(&mut self, quota: &Quota) -> Option<u64> {
        self.watch.periods_used_up(quota)
    }

    /// The kernel adds the usage of threads on other processors to the process's clock at their
    /// ticks, which may be 10 ms apart: more than the slack of a quota. Reading a thread's own
    /// clock updates it.
    fn processor_time(&mut self, shared: &Shared) -> Option<Duration> {
        self.clocks_read = shared.update_clocks();
        os::process_time()
    }

    fn processor_wait(&mut self, shared: &Shared) -> Option<Duration> {
        shared.processor_wait_of_first(SAMPLED_WORKERS)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_reading_that_fails_does_not_lift_a_quota() {
        let quota = |processors| {
            let period = Duration::from_millis(100);
            Some(Quota { processors, period, file: Path::new("quota").into() })
        };
        let fault = |problem: &str| LimitFault::of("quota", problem.to_owned());
        let mut last = LastQuota { quota: quota(2.0), known_faults: vec![fault("always")] };
        assert_eq!(last.update(None, &[fault("always"), fault("too many open files")]), quota(2.0));
        assert_eq!(last.update(quota(3.0), &[fault("too many open files")]), quota(2.0));
        assert_eq!(last.update(quota(3.0), &[fault("always")]), quota(3.0));
        assert_eq!(last.update(None, &[]), None);
    }
}
