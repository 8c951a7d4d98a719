//! Working on while one waits for something in one's own way.

use locksley::Worker;

/// What came of [`yield_now`] or [`yield_local`].
///
/// # Examples
/// See [`yield_now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task was found, and has been run.
    Executed,
    /// There was none to be found.
    Idle,
}

/// Runs one task of the calling worker's pool, if one can be found; none where the thread belongs
/// to no pool.
///
/// # Examples
/// ```
/// use rayon_core::{ThreadPoolBuilder, Yield, spawn, yield_now};
///
/// assert_eq!(yield_now(), None);
/// let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     spawn(|| ());
///     assert_eq!(yield_now(), Some(Yield::Executed));
///     assert_eq!(yield_now(), Some(Yield::Idle));
/// });
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn yield_now() -> Option<Yield> {
    Worker::with_current(|current| current.map(run_one))
}

/// Runs one task that waits at the calling worker, if there is one; none where the thread belongs
/// to no pool.
///
/// # Examples
/// See [`yield_now`]; tasks of other workers are left to them.
pub fn yield_local() -> Option<Yield> {
    Worker::with_current(|current| current.map(run_local))
}

pub(crate) fn run_one(worker: &Worker) -> Yield {
    as_yield(worker.run_one())
}

pub(crate) fn run_local(worker: &Worker) -> Yield {
    as_yield(worker.run_local())
}

fn as_yield(has_run: bool) -> Yield {
    if has_run { Yield::Executed } else { Yield::Idle }
}
