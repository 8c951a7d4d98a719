//! `broadcast`: runs a task on every worker.

use std::sync::Arc;

use super::spawn::{Spawn, shared_of};
use crate::job::StackJob;
use crate::job::latch::Latch;
use crate::numbers::Index;
use crate::pool::Pool;
use crate::unwind;
use crate::worker::Worker;

impl Pool {
    /// Runs `task` on each worker, and returns the results in the order of the workers.
    ///
    /// A worker runs it when its own deque is empty, before it searches. A caller that is a worker
    /// of any pool runs tasks meanwhile that only it may run. A worker in [`block_on`] or
    /// [`blocking`] runs it afterwards. What such a call waits for must not broadcast to the pool.
    /// Simultaneous broadcasts are not ordered: they may reach two workers in different orders.
    ///
    /// [`block_on`]: crate::block_on
    /// [`blocking`]: crate::blocking()
    ///
    /// # Panics
    /// If the task panics: with the payload of the first worker on which it does, after all have
    /// ended.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(3)?;
    /// assert_eq!(pool.broadcast(|worker| worker.index() * 10), [0, 10, 20]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn broadcast<F, R>(&self, task: F) -> Vec<R>
    where
        F: Fn(&Worker) -> R + Sync,
        R: Send,
    {
        broadcast(Some(self), || (), task)
    }

    /// Spawns a detached task that each worker runs once.
    ///
    /// A worker runs it when its own deque is empty. Each panic goes to the pool's
    /// [`panic_handler`](crate::PoolBuilder::panic_handler).
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(3)?;
    /// let (sender, receiver) = channel();
    /// pool.spawn_broadcast(move |worker| sender.send(worker.index()).unwrap());
    /// let mut workers: Vec<_> = receiver.iter().collect();
    /// workers.sort();
    /// assert_eq!(workers, [0, 1, 2]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&self, task: F)
    where
        F: Fn(&Worker) + Send + Sync + 'static,
    {
        let task = Arc::new(task);
        for worker in 0..self.workers() {
            let task = Arc::clone(&task);
            self.spawn_with(Spawn::At(worker), move |worker| task(worker));
        }
    }
}

/// [`Pool::broadcast`] to `pool`, or else to the calling worker's pool or the global one. It is
/// sent while the result of `begin` lives, such as the guard of a lock that orders broadcasts.
///
/// # Panics
/// As [`Pool::broadcast`], and if `begin` does. A panic of the destructor of what that returns is
/// discarded.
///
/// # Examples
/// ```
/// use std::sync::Mutex;
///
/// static ORDER: Mutex<()> = Mutex::new(());
/// let pool = locksley::Pool::new(2)?;
/// let begin = || ORDER.lock().unwrap();
/// assert_eq!(locksley::extend::broadcast(Some(&pool), begin, |w| w.index()), [0, 1]);
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub fn broadcast<G, F, R>(pool: Option<&Pool>, begin: impl FnOnce() -> G, task: F) -> Vec<R>
where
    F: Fn(&Worker) -> R + Sync,
    R: Send,
{
    let mut results = Worker::with_current(|current| {
        let shared = pool.map_or_else(|| shared_of(current), Pool::shared);
        shared.assert_open();
        shared.abort_if_in_forked_child();
        let running = Latch::new(current);
        let job = |_| StackJob::new(&task, &running);
        let jobs: Vec<_> = (0..shared.workers).map(job).collect();
        let begun = begin();
        for (worker, job) in jobs.iter().enumerate() {
            running.increment();
            shared.send_to(current, Index::new(worker), job.as_job());
        }
        // A panic here would free what the workers use.
        unwind::drop_quietly(begun);
        running.end_and_wait(current, |worker, event| worker.wait_for_others(event));
        // SAFETY: all have ended.
        jobs.into_iter().map(|job| unsafe { job.take_result() }).collect::<Vec<_>>()
    });
    if let Some(panicked) = results.iter().position(Result::is_err) {
        if let Err(payload) = results.swap_remove(panicked) {
            // One by one, because several destructors may panic.
            results.into_iter().for_each(unwind::drop_quietly);
            unwind::resume(payload);
        }
    }
    results.into_iter().filter_map(Result::ok).collect()
}
