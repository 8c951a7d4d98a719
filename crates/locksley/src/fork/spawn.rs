//! `spawn` and its kin: tasks that nobody waits for.

use crate::pool::Pool;
use crate::scheduler::Shared;
use crate::scheduler::Worker;

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

/// As [`spawn`], but the tasks that one worker spawns like this begin in the order in which it spawned them.
///
/// A worker takes its newest task back first, so what it spawns with [`spawn`] usually runs in the opposite order. (A thief
/// takes the oldest in either case.) Tasks that began in order may end in any, and tasks of different workers have none.
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// locksley::Pool::new(1)?.run(|_| {
///     for n in 0..3 {
///         let sender = sender.clone();
///         locksley::spawn_fifo(move || sender.send(n).unwrap());
///     }
/// });
/// drop(sender);
/// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub fn spawn_fifo<F>(task: F)
where
    F: FnOnce() + Send + 'static,
{
    Worker::with_current(|current| match current {
        Some(worker) => worker.spawn_fifo(|_| task()),
        None => Pool::global().spawn_fifo(|_| task()),
    });
}

impl Worker {
    /// Accepts a detached task into this worker's pool: [`spawn`] on a known worker.
    ///
    /// A thread of your own that joined a pool is its worker even when that has been closed: then the task is dropped, since there
    /// is nobody to run it. So it is in a worker's `on_start` hook that comes late.
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
        if let Some(job) = self.shared().detached(task) {
            self.push_unplaced(job);
        }
    }

    /// Accepts a detached task that begins after those that this worker has spawned like this before: [`spawn_fifo`] on a
    /// known worker.
    ///
    /// # Examples
    /// See [`spawn_fifo`].
    pub fn spawn_fifo<F>(&self, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        let Some(job) = self.shared().detached(task) else { return };
        let line = self.seat().line();
        // SAFETY: the line is this worker's, and as alive as the pool, which is not closed before the task has ended.
        unsafe { self.push_in_line(line, job) };
    }

    /// Accepts a detached task that only the worker with that number runs: [`Pool::spawn_at`] in this worker's pool.
    ///
    /// # Panics
    /// If the pool has no such worker.
    ///
    /// # Examples
    /// See [`Pool::spawn_at`].
    pub fn spawn_at<F>(&self, index: usize, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        spawn_at(self.shared(), index, task);
    }
}

impl Pool {
    /// Accepts a detached task, as [`spawn`](Self::spawn) does; what one worker of this pool spawns like this begins in that
    /// order: see [`spawn_fifo`].
    ///
    /// # Examples
    /// See [`spawn_fifo`].
    pub fn spawn_fifo<F>(&self, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        Worker::with_current(|current| match current {
            Some(worker) if worker.is_of(self) => worker.spawn_fifo(task),
            // Where there is but one order. The pool's handle keeps it open.
            _ => {
                if let Some(job) = self.shared().detached(task) {
                    self.shared().send_from(current, job);
                }
            }
        });
    }

    /// Accepts a detached task that only the worker with that number runs, when it has no tasks of its own.
    ///
    /// What one thread sends to one worker begins in the order in which it was sent. No other worker can help: if that one is
    /// in a task that waits without working, this one waits too.
    ///
    /// # Panics
    /// If the pool has no such worker.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(3)?;
    /// let (sender, receiver) = channel();
    /// pool.spawn_at(2, move |worker| sender.send(worker.index()).unwrap());
    /// assert_eq!(receiver.recv(), Ok(2));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_at<F>(&self, index: usize, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        spawn_at(self.shared(), index, task);
    }
}

fn spawn_at<F>(shared: &Shared, index: usize, task: F)
where
    F: FnOnce(&Worker) + Send + 'static,
{
    shared.must_be_open();
    let workers = shared.workers();
    assert!(index < workers, "there is no worker {index} in a pool of {workers}");
    if let Some(job) = shared.detached(task) {
        Worker::with_current(|current| shared.send_to(current, index, job));
    }
}
