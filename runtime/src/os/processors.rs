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
    count: usize,
}

impl Processors {
    /// What is allowed now. It may change while the process runs.
    #[must_use]
    pub fn allowed() -> Self {
        let ids = system::process_affinity().unwrap_or_default();
        let count = count_under_quota(&ids);
        Self { ids, count }
    }

    /// How many processors' worth of time the process may use: at least 1, and less than [`ids`](Self::ids) lists
    /// where a control group's quota is smaller (rounded down).
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The numbers of the processors in the process's affinity; empty where the system does not tell.
    #[must_use]
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// Whether a control group's quota allows less than the affinity does.
    #[must_use]
    pub fn limited_by_quota(&self) -> bool {
        !self.ids.is_empty() && self.count < self.ids.len()
    }
}

/// The standard library knows the quotas of control groups (versions 1 and 2, with their ancestors), but counts the
/// calling thread's affinity. So it is asked on a thread that has the process's.
fn count_under_quota(ids: &[usize]) -> usize {
    let ask = || std::thread::available_parallelism().map_or(1, usize::from);
    if ids.is_empty() {
        return ask();
    }
    let asker = std::thread::Builder::new().spawn(move || {
        system::move_to_process_affinity();
        ask()
    });
    asker.map_or_else(|_| ask(), |thread| thread.join().unwrap_or(1))
}
