//! `spawn`: a task that nobody waits for.

use crate::job::HeapJob;
use crate::pool::Pool;
use crate::worker::Worker;

/// Accepts a detached task: into the calling worker's pool, or into the [global pool](Pool::global) on any other thread.
///
/// It will run, whatever becomes of the caller; a pool that is dropped finishes it first. The global pool is never
/// dropped: a task that has not ended when `main` returns is lost with the process. If the task panics, the payload
/// goes to the pool's [`panic_handler`](crate::PoolBuilder::panic_handler).
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// locksley::spawn(move || sender.send("done").unwrap());
/// assert_eq!(receiver.recv(), Ok("done"));
/// ```
pub fn spawn<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    Worker::with_current(|current| match current {
        Some(worker) => worker.spawn(|_| task()),
        None => Pool::global().spawn(|_| task()),
    });
}

impl Worker {
    /// Accepts a detached task into this worker's pool: [`spawn`] on a known worker.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// pool.run(move |w| w.spawn(move |w| sender.send(w.index()).unwrap()));
    /// assert!(receiver.recv().unwrap() < 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        self.shared().begin_detached();
        // SAFETY: it will be run once, because the pool is not closed before; it borrows nothing; its panic is caught.
        let job = unsafe {
            HeapJob::into_job(|worker: &Worker| worker.shared().run_detached(|| task(worker)))
        };
        self.push(job);
    }
}
