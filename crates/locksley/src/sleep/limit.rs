//! The public description of a limit.

use std::time::Duration;

/// The largest number of workers that pushes keep awake.
///
/// While so many workers are awake, one sleeping worker is the *sentinel*. It wakes up every
/// `timed_park` and takes tasks that no worker has touched meanwhile, because a worker that is
/// awake may be blocked.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use locksley::idle::{Abp, Balanced, IdlePolicy, Limit};
///
/// let limit = Balanced::default().limit(4);
/// assert_eq!(limit, Limit { awake: 4, timed_park: Duration::from_millis(10) });
/// assert_eq!(Abp::default().limit(4), Limit::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The number of workers, at least one.
    pub awake: usize,
    /// How long the sentinel parks at a time.
    pub timed_park: Duration,
}

impl Default for Limit {
    /// No limit: pushes may keep all workers awake.
    fn default() -> Self {
        Self::NONE
    }
}

impl Limit {
    /// No limit.
    pub(crate) const NONE: Self = Self { awake: usize::MAX, timed_park: Duration::MAX };
}
