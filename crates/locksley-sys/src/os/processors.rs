//! The processors that this process may use.

use super::limits::{LimitFault, Quota};
use super::system::{self, QuotaWatch};
use crate::primitive::thread;

/// The processors that this process may use, by affinity and by control-group quota.
///
/// The affinity is the process's (its main thread's), not the calling thread's: a thread that has
/// pinned itself and then builds a pool does not squeeze all workers onto its own processor.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// let processors = locksley::os::Processors::allowed();
/// assert!(processors.count() >= 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Processors {
    ids: Vec<usize>,
    quota: Option<Quota>,
    faults: Vec<LimitFault>,
}

impl Processors {
    /// Reads what is allowed now. It may change while the process runs.
    ///
    /// The quota is the tightest of the process's control group and the ancestors of that group, in
    /// all mounted hierarchies of cgroup v1 and v2.
    #[must_use]
    pub fn allowed() -> Self {
        let (quota, faults) = QuotaWatch::of_this_process().quota();
        Self { ids: affinity(), quota, faults }
    }

    /// The number of workers that use all that is allowed: the [`capacity`](Self::capacity) rounded
    /// up, at least 1. If the capacity is not whole, one of them has to sleep for a part of the
    /// time, so that the quota is not used up early.
    #[must_use]
    pub fn count(&self) -> usize {
        (self.capacity().ceil() as usize).max(1)
    }

    /// The processor time that the process may use per second of real time: the number of
    /// [`ids`](Self::ids), or the [`quota`](Self::quota) if that is less.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        let all = self.ids.len().max(1) as f64;
        self.quota().map_or(all, |quota| quota.processors.min(all))
    }

    /// The numbers of the processors in the process's affinity, in ascending order. If the system
    /// does not report the affinity: the numbers from 0 up to, not including,
    /// [`available_parallelism`](std::thread::available_parallelism).
    #[must_use]
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// The processor time that control groups allow; `None` if they set no limit.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }

    /// The files of control groups that could not be read. Each was treated as no limit.
    #[must_use]
    pub fn faults(&self) -> &[LimitFault] {
        &self.faults
    }
}

fn affinity() -> Vec<usize> {
    system::process_affinity().unwrap_or_else(|| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        (0..count).collect()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    fn processors(ids: &[usize], quota: Option<f64>) -> Processors {
        let (period, file) = (Duration::from_millis(100), Path::new("quota").into());
        let quota = quota.map(|processors| Quota { processors, period, file });
        Processors { ids: ids.to_vec(), quota, faults: Vec::new() }
    }

    #[test]
    fn a_fraction_of_a_processor_takes_a_worker_to_use_it() {
        let count = |ids: &[usize], quota| processors(ids, quota).count();
        assert_eq!(count(&[0, 1, 5], None), 3);
        assert_eq!(count(&[0, 1, 5], Some(1.01)), 2);
        assert_eq!(count(&[0, 1, 5], Some(2.0)), 2);
        assert_eq!(count(&[0, 1, 5], Some(0.2)), 1);
        assert_eq!(count(&[0, 1, 5], Some(3.5)), 3);
        assert_eq!(count(&[0, 1, 5], Some(64.0)), 3);
        assert_eq!(count(&[], Some(3.5)), 1);
    }
}
