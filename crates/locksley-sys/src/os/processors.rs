//! The processors that this process may use.

use std::path::Path;

use super::limits::{LimitFault, Quota};
use super::system;
use super::system::Limits;

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
    /// What is allowed now. It may change while the process runs.
    ///
    /// Quotas are those of the process's control group and of all that it lies in, of either
    /// version, as far as they are mounted here.
    #[must_use]
    pub fn allowed() -> Self {
        Self::within(affinity(), system::Groups::of_this_process().limits())
    }

    /// Those of `ids` that control groups leave. (The kernel has left out of an affinity what they
    /// do not, if nothing has changed since.)
    pub fn within(ids: Vec<usize>, limits: Limits) -> Self {
        let Limits { quota, processors, faults } = limits;
        let are_left = |ids: &Vec<usize>| !ids.is_empty();
        let left = processors.map(|set| {
            let is_left = |id: &usize| set.contains(id);
            ids.iter().copied().filter(is_left).collect::<Vec<usize>>()
        });
        Self { ids: left.filter(are_left).unwrap_or(ids), quota, faults }
    }

    /// How many workers can be busy at a time: as many as there are [`ids`](Self::ids), or the
    /// [`quota`](Self::quota) rounded down if that is less; at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        let by_quota = self.quota().map_or(usize::MAX, |quota| quota as usize);
        self.ids.len().min(by_quota).max(1)
    }

    /// How many workers it takes to use all that is allowed: as many as there are
    /// [`ids`](Self::ids), or the [`quota`](Self::quota) rounded up if that is less; at least 1.
    /// One of them then has to rest from time to time.
    #[must_use]
    pub fn count_up(&self) -> usize {
        (self.capacity().ceil() as usize).max(1)
    }

    /// How many processors' worth of time the process may use: as many as there are
    /// [`ids`](Self::ids), or the [`quota`](Self::quota) if that is less.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        let all = self.ids.len().max(1) as f64;
        self.quota().map_or(all, |quota| quota.min(all))
    }

    #[cfg(all(test, not(loom)))]
    fn of(ids: Vec<usize>, quota: Option<f64>) -> Self {
        let period = std::time::Duration::from_millis(100);
        let quota =
            quota.map(|processors| Quota { processors, period, file: Path::new("quota").into() });
        Self { ids, quota, faults: Vec::new() }
    }

    /// The numbers of the processors in the process's affinity, in ascending order. Where the
    /// system does not tell: as many numbers from 0 as the standard library counts processors.
    #[must_use]
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// How many processors' worth of time control groups allow; `None` where they set no limit.
    #[must_use]
    pub fn quota(&self) -> Option<f64> {
        self.quota.as_ref().map(|quota| quota.processors)
    }

    /// The file that sets the [`quota`](Self::quota).
    ///
    /// # Examples
    /// ```
    /// # use locksley_sys as locksley;
    /// let allowed = locksley::os::Processors::allowed();
    /// assert_eq!(allowed.quota().is_some(), allowed.quota_set_in().is_some());
    /// ```
    #[must_use]
    pub fn quota_set_in(&self) -> Option<&Path> {
        self.quota.as_ref().map(|quota| &*quota.file)
    }

    /// What could not be read of control groups, and was taken as no limit.
    #[must_use]
    pub fn faults(&self) -> &[LimitFault] {
        &self.faults
    }

    /// The [`quota`](Self::quota), with its period and its file.
    #[doc(hidden)]
    pub fn quota_as_set(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }
}

fn affinity() -> Vec<usize> {
    system::process_affinity().unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        (0..count).collect()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_a_processor_takes_a_worker_to_use_it() {
        let count_up = |ids: &[usize], quota| Processors::of(ids.to_vec(), quota).count_up();
        assert_eq!(count_up(&[0, 1, 5], None), 3);
        assert_eq!(count_up(&[0, 1, 5], Some(1.01)), 2);
        assert_eq!(count_up(&[0, 1, 5], Some(2.0)), 2);
        assert_eq!(count_up(&[0, 1, 5], Some(0.2)), 1);
        assert_eq!(count_up(&[0, 1, 5], Some(3.5)), 3);
        assert_eq!(count_up(&[], Some(3.5)), 1);
    }

    #[test]
    fn what_a_group_leaves_is_what_there_is() {
        let within = |set: &[usize]| {
            let limits = Limits { processors: Some(set.to_vec()), ..Limits::default() };
            Processors::within(vec![0, 1, 5], limits).ids
        };
        assert_eq!(within(&[1, 2, 5]), [1, 5]);
        // It was read at another time than the affinity.
        assert_eq!(within(&[2, 3]), [0, 1, 5]);
        assert_eq!(within(&[]), [0, 1, 5]);
    }

    #[test]
    fn the_smaller_of_affinity_and_quota_counts() {
        let count = |ids: &[usize], quota| Processors::of(ids.to_vec(), quota).count();
        assert_eq!(count(&[0, 1, 5], None), 3);
        assert_eq!(count(&[0, 1, 5], Some(1.9)), 1);
        assert_eq!(count(&[0, 1, 5], Some(0.2)), 1);
        assert_eq!(count(&[0, 1, 5], Some(64.0)), 3);
    }
}
