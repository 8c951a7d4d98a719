//! The processors that this process may use.

use super::system;

/// The processors that this process may use, by affinity and by control-group quota.
///
/// The affinity is the process's (its main thread's), not the calling thread's: a thread that has pinned itself and
/// then builds a pool does not squeeze all workers onto its own processor.
///
/// # Examples
/// ```
/// let processors = locksley::os::Processors::allowed();
/// assert!(processors.count() >= 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Processors {
    ids: Vec<usize>,
    quota: Option<f64>,
}

impl Processors {
    /// What is allowed now. It may change while the process runs.
    #[must_use]
    pub fn allowed() -> Self {
        let ids = system::process_affinity().unwrap_or_else(|| {
            let count = std::thread::available_parallelism().map_or(1, usize::from);
            (0..count).collect()
        });
        Self { ids, quota: system::quota() }
    }

    /// How many workers can be busy at a time: as many as there are [`ids`](Self::ids), or the [`quota`](Self::quota)
    /// rounded down if that is less; at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        let by_quota = self.quota.map_or(usize::MAX, |quota| quota as usize);
        self.ids.len().min(by_quota).max(1)
    }

    /// How many processors' worth of time the process may use: as many as there are [`ids`](Self::ids), or the
    /// [`quota`](Self::quota) if that is less.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        let all = self.ids.len().max(1) as f64;
        self.quota.map_or(all, |quota| quota.min(all))
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn of(ids: Vec<usize>, quota: Option<f64>) -> Self {
        Self { ids, quota }
    }

    /// The numbers of the processors in the process's affinity, in ascending order. Where the system does not tell:
    /// as many numbers from 0 as the standard library counts processors.
    #[must_use]
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// How many processors' worth of time control groups allow; `None` where they set no limit.
    #[must_use]
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Processors;

    #[test]
    fn the_smaller_of_affinity_and_quota_counts() {
        let count = |ids: &[usize], quota| Processors { ids: ids.to_vec(), quota }.count();
        assert_eq!(count(&[0, 1, 5], None), 3);
        assert_eq!(count(&[0, 1, 5], Some(1.9)), 1);
        assert_eq!(count(&[0, 1, 5], Some(0.2)), 1);
        assert_eq!(count(&[0, 1, 5], Some(64.0)), 3);
    }
}
