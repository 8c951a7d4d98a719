//! Queries about the calling thread.

use locksley::Worker;

use crate::global::global;

/// The number of threads of the calling worker's pool, or else of the global one, which is then
/// built.
///
/// # Examples
/// ```
/// use rayon_core::{ThreadPoolBuilder, current_num_threads};
///
/// let pool = ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(current_num_threads), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn current_num_threads() -> usize {
    Worker::with_current(|current| current.map(Worker::workers))
        .unwrap_or_else(|| global().workers())
}

/// The calling thread's number in its pool, from 0; none where the thread belongs to no pool.
///
/// # Examples
/// ```
/// use rayon_core::{ThreadPoolBuilder, current_thread_index};
///
/// assert_eq!(current_thread_index(), None);
/// let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
/// assert_eq!(pool.install(current_thread_index), Some(0));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::with_current(|current| current.map(Worker::index))
}

/// Whether tasks wait in the calling thread's own deque; none where the thread belongs to no pool.
///
/// # Examples
/// ```
/// use rayon_core::{ThreadPoolBuilder, current_thread_has_pending_tasks, spawn};
///
/// assert_eq!(current_thread_has_pending_tasks(), None);
/// let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     assert_eq!(current_thread_has_pending_tasks(), Some(false));
///     spawn(|| ());
///     assert_eq!(current_thread_has_pending_tasks(), Some(true));
/// });
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::with_current(|current| current.map(Worker::has_own_tasks))
}

/// The largest number of threads of a pool. A request for more gets this many.
///
/// # Examples
/// ```
/// assert!(rayon_core::max_num_threads() >= 255);
/// ```
pub fn max_num_threads() -> usize {
    locksley::extend::MAX_SLOTS
}
