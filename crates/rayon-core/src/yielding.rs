//! Working on while one waits for something in one's own way.

use locksley::Worker;
use locksley::held::Caller;

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

/// Runs one task of the calling worker's pool, if one can be found; none where the thread belongs to no pool.
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
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn yield_now() -> Option<Yield> {
    let caller = Caller::here();
    Worker::with_current(|current| current.map(|worker| run_one(caller, worker)))
}

/// Runs one task that waits at the calling worker, if there is one; none where the thread belongs to no pool.
///
/// # Examples
/// See [`yield_now`]; tasks of other workers are left to them.
#[cfg_attr(feature = "held-locks", track_caller)]
pub fn yield_local() -> Option<Yield> {
    let caller = Caller::here();
    Worker::with_current(|current| current.map(|worker| run_local(caller, worker)))
}

pub(crate) fn run_one(caller: Caller, worker: &Worker) -> Yield {
    as_yield(caller.run_one(worker))
}

pub(crate) fn run_local(caller: Caller, worker: &Worker) -> Yield {
    as_yield(caller.run_local(worker))
}

fn as_yield(has_run: bool) -> Yield {
    if has_run { Yield::Executed } else { Yield::Idle }
}
