//! The end of a pool that waits for futures, up to a deadline.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Pool, end_threads};
use crate::blocking::blocking;
use crate::primitive::{Instant, Ordering};
use crate::shared::Shared;
use crate::worker::Worker;

/// The error of a [shutdown](Pool::shutdown) that ended before all tasks had.
///
/// # Examples
/// See [`Pool::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The number of closures that had not ended: detached ones, and those with a handle.
    pub closures: usize,
    /// The number of futures that had not ended.
    pub futures: usize,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number =
            |number: usize, noun| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        let closures = number(self.closures, "closure");
        let futures = number(self.futures, "future");
        write!(f, "a pool was shut down while {closures} and {futures} had not ended")
    }
}

impl Error for Unfinished {}

impl Pool {
    /// Ends the pool after all that it has accepted has ended: closures and
    /// [futures](crate::task). Waits for `timeout` at most.
    ///
    /// When the time is over, each future that has returned `Pending` is cancelled, and this call
    /// returns. Closures, begun or not, still run to their ends, and then the threads end. If all
    /// has ended in time, the call waits for the threads and their `on_exit` hooks.
    ///
    /// Meanwhile tasks may spawn others, which are waited for, too. A worker of another pool that
    /// calls this is [blocked](crate::blocking). On a worker of this pool, the
    /// timeout counts as zero. A [borrowed](crate::PoolBuilder::with_current_thread) thread runs
    /// tasks while it waits.
    ///
    /// A pool that threads share by an [`Arc`] is taken out of it by [`Arc::into_inner`]. The
    /// [global pool](Self::global) cannot be shut down.
    ///
    /// # Errors
    /// [`Unfinished`] has the numbers of closures and futures that had not ended in time.
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
    /// assert_eq!((unfinished.closures, unfinished.futures), (0, 1));
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
        let is_closed = Worker::with_current(|current| match current {
            Some(own) if own.belongs_to(&shared) => {
                own.is_borrowed() && run_until_closed(own, &shared, timeout)
            }
            _ => blocking(|| shared.closed_event.wait(timeout)),
        });
        let (closures, futures) = shared.pending.counts();
        if !is_closed && (closures, futures) != (0, 0) {
            shared.cancel_tasks();
            // There may be no other worker that drops the futures. Closures may spawn others for
            // ever, so the number of steps is limited.
            Worker::with_current(|current| {
                let borrowed = shared.own_worker(current).filter(|own| own.is_borrowed());
                borrowed.map(|own| (0..closures + futures).any(|_| !own.run_one()))
            });
            return Err(Unfinished { closures, futures });
        }
        end_threads(threads, &shared);
        Ok(())
    }
}

/// Runs tasks on a borrowed thread until the pool is closed, or the time is over. True if it is
/// closed.
fn run_until_closed(own: &Worker, pool: &Shared, timeout: Duration) -> bool {
    /// A task may become ready on another thread.
    const NAP: Duration = Duration::from_millis(1);
    let began = Instant::now();
    loop {
        let left = timeout.saturating_sub(began.elapsed());
        if left.is_zero() || pool.closed.is_set() {
            return pool.closed.is_set();
        }
        if !own.run_one() {
            pool.closed_event.wait(left.min(NAP));
        }
    }
}
