//! `spawn`: detached tasks, for which the caller does not wait.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::header::Job;
use crate::numbers::{Index, Place};
use crate::pool::Pool;
use crate::shared::Shared;
use crate::worker::Worker;

/// Selects where and in which order a task begins: the option of [`spawn_with`] and of the methods
/// with that name.
///
/// # Examples
/// ```
/// use locksley::{Pool, Spawn};
/// use std::sync::mpsc::channel;
///
/// let pool = Pool::new(2)?;
/// let (sender, receiver) = channel();
/// pool.spawn_with(Spawn::At(1), move |worker| sender.send(worker.index()).unwrap());
/// assert_eq!(receiver.recv(), Ok(1));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spawn {
    /// In order: closures that one worker spawns with this option, all of them detached or in one
    /// scope, begin in the order in which they were spawned.
    ///
    /// Without it, a worker pops its newest task first. A thief takes the oldest in either case.
    /// Closures that begin in order may end in any order. Those of different workers have no order.
    ///
    /// [Futures](Pool::spawn_future_with), and all tasks of other threads, go to the queue that all
    /// workers share. They have no order with a worker's closures.
    Fifo,
    /// At this place of the pool: its workers take the task before other workers do.
    ///
    /// It is a hint. A task that a worker of the place itself spawns goes to that worker's own
    /// deque. Any other task goes to the queue of the place, from which tasks are taken in order. A
    /// sleeping worker of the place is woken, within the limits of the pool's
    /// [size](Pool::resize) and of its idle policy. An idle worker of another
    /// place takes the task if it finds it when it looks everywhere, which it does before it
    /// sleeps. It [counts](crate::stats::WorkerStats::out_of_place) the task.
    Near(usize),
    /// On the worker with this index only: usually when its own deque is empty, or while it waits
    /// in a join or scope.
    ///
    /// Tasks from one thread for one worker begin in the order in which they were sent. They wait
    /// while that worker runs a task that blocks.
    At(usize),
}

impl Spawn {
    /// Panics if the pool does not have the place or the worker.
    #[track_caller]
    pub(crate) fn assert_valid_in(self, shared: &Shared) {
        match self {
            Self::Fifo => {}
            Self::Near(place) => shared.assert_has_place(place),
            Self::At(index) => {
                shared.assert_open();
                let workers = shared.workers;
                assert!(index < workers, "there is no worker {index} in a pool of {workers}");
            }
        }
    }
}

/// Spawns a detached task in the calling worker's pool. If the calling thread is no worker, the
/// task runs in the [global pool](Pool::global).
///
/// A pool that is dropped finishes its detached closures first. If it is closed already, which only
/// borrowed threads can see, and exit hooks of a pool that starts in the background, the task is
/// dropped without running. The global pool is never dropped: a task that has not ended when `main`
/// returns is lost with the process.
/// A panic of the task goes to the pool's [`panic_handler`](crate::PoolBuilder::panic_handler).
/// Without a handler, it ends this task only.
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
    spawn_into(None, None, |_| task());
}

/// [`spawn`] with an option.
///
/// # Panics
/// If the pool does not have the place or the worker that the option names; for [`Spawn::At`], also
/// if the pool is closed.
///
/// # Examples
/// ```
/// use locksley::{Pool, Spawn, spawn_with};
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// Pool::new(1)?.install(|_| {
///     for n in 0..3 {
///         let sender = sender.clone();
///         spawn_with(Spawn::Fifo, move || sender.send(n).unwrap());
///     }
/// });
/// drop(sender);
/// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[track_caller]
pub fn spawn_with<F>(option: Spawn, task: F)
where
    F: FnOnce() + Send + 'static,
{
    // Outside of a closure, so that a panic names the caller's line.
    option.assert_valid_in(&Worker::with_current(|current| Arc::clone(shared_of(current))));
    spawn_into(None, Some(option), |_| task());
}

impl Pool {
    /// Spawns a detached task in this pool.
    ///
    /// A worker of this pool pushes it to its own deque. The tasks of other threads go to one
    /// queue, and workers take them in that order. Two workers may begin the tasks that they have
    /// taken in either order. A panic of the task goes to the pool's
    /// [`panic_handler`](crate::PoolBuilder::panic_handler). Without a handler, it ends this task
    /// only.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// pool.spawn(move |worker| sender.send(worker.index()).unwrap());
    /// assert!(receiver.recv().unwrap() < 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        spawn_into(Some(self), None, task);
    }

    /// [`spawn`](Self::spawn) with an option.
    ///
    /// # Panics
    /// If the pool does not have the place or the worker that the option names.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, Spawn};
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// for place in 0..pool.places().count() {
    ///     let sender = sender.clone();
    ///     pool.spawn_with(Spawn::Near(place), move |_| sender.send(place).unwrap());
    /// }
    /// drop(sender);
    /// assert_eq!(receiver.iter().count(), pool.places().count());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_with<F>(&self, option: Spawn, task: F)
    where
        F: FnOnce(&Worker) + Send + 'static,
    {
        option.assert_valid_in(self.shared());
        spawn_into(Some(self), Some(option), task);
    }
}

/// The pool of the calling worker, or else the global one.
pub(crate) fn shared_of(current: Option<&Worker>) -> &Arc<Shared> {
    current.map_or_else(|| Pool::global().shared(), Worker::shared)
}

/// Spawns a detached task in `pool`, or else in the calling worker's pool or the global one.
fn spawn_into<F>(pool: Option<&Pool>, option: Option<Spawn>, task: F)
where
    F: FnOnce(&Worker) + Send + 'static,
{
    Worker::with_current(|current| {
        let shared = pool.map_or_else(|| shared_of(current), Pool::shared);
        let Some(job) = shared.detached(task) else { return };
        match (shared.own_worker(current), option) {
            // SAFETY: the FIFO lives as long as the pool, which is not closed before the task ends.
            (Some(worker), Some(Spawn::Fifo)) => unsafe {
                worker.push_fifo(&worker.state().fifo, job);
            },
            _ => shared.send_with(current, option, job),
        }
    });
}

impl Shared {
    /// Makes a job available as the option says. `current` is the calling worker, of any pool. For
    /// a closure with `Spawn::Fifo`, a worker of this pool uses its own FIFO instead.
    #[inline]
    pub(crate) fn send_with(
        &self,
        current: Option<&Worker>,
        option: Option<Spawn>,
        job: NonNull<Job>,
    ) {
        match option {
            None => self.push_or_send(current, job),
            // The injector is a FIFO.
            Some(Spawn::Fifo) => self.send(current, job),
            Some(Spawn::Near(place)) => self.send_near(current, Place::new(place), job),
            Some(Spawn::At(index)) => self.send_to(current, Index::new(index), job),
        }
    }
}
