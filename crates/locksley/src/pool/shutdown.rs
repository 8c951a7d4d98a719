//! The end of a pool that waits for futures, up to a deadline.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Pool, end_threads, run_own_tasks};
use crate::blocking::blocking;
use crate::primitive::Ordering;
use crate::worker::Worker;

/// The error of a [shutdown](Pool::shutdown) that ended before all tasks had.
///
/// # Examples
/// See [`Pool::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The number of detached closures that had not ended.
    pub closures: usize,
    /// The number of tasks that had not ended: futures, and closures with a handle.
    pub tasks: usize,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { closures, tasks } = self;
        write!(
            f,
            "a pool was shut down before its end: {closures} detached closures and {tasks} "
        )?;
        f.write_str("tasks had not ended")
    }
}

impl Error for Unfinished {}

impl Pool {
    /// Ends the pool after all that it has accepted has ended: closures and
    /// [futures](crate::task). Waits for `timeout` at most.
    ///
    /// When the time is over, futures that wait are cancelled, as a [drop](Self#drop) cancels them.
    /// This call does not wait for the closures that still run. They run to their ends, and then
    /// the threads end.
    ///
    /// Meanwhile tasks may spawn others, which are waited for, too. A worker of another pool that
    /// calls this is [blocked](crate::blocking). A worker of this pool cannot wait for itself: its
    /// call waits for nothing. A [borrowed](crate::PoolBuilder::with_current_thread) thread runs
    /// the tasks that it finds.
    ///
    /// # Errors
    /// [`Unfinished`] says how many tasks had not ended in time.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let task = pool.spawn_future(async { locksley::task::yield_now().await });
    /// assert_eq!(pool.shutdown(Duration::from_secs(60)), Ok(()));
    /// assert!(task.join().is_ok());
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let endless = pool.spawn_future(std::future::pending::<()>());
    /// let unfinished = pool.shutdown(Duration::ZERO).unwrap_err();
    /// assert_eq!((unfinished.closures, unfinished.tasks), (0, 1));
    /// assert!(endless.join().unwrap_err().is_cancelled());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn shutdown(mut self, timeout: Duration) -> Result<(), Unfinished> {
        if let Some(pool) = self.rebuilt.take() {
            return pool.shutdown(timeout);
        }
        if self.shared.is_in_forked_child() {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        shared.waits_for_tasks.store(true, Ordering::Relaxed);
        // Counts the end of the handle. The threads are joined below, if they end in time.
        let threads = std::mem::take(&mut self.threads);
        self.is_detached = true;
        drop(self);
        let is_in_time = Worker::with_current(|current| match current {
            Some(own) if own.belongs_to(&shared) => {
                run_own_tasks(own);
                false
            }
            _ => blocking(|| shared.closed_event.wait(timeout)),
        });
        if !is_in_time && let Some((closures, tasks)) = shared.cancel_tasks() {
            return Err(Unfinished { closures, tasks });
        }
        end_threads(threads, &shared);
        Ok(())
    }
}
