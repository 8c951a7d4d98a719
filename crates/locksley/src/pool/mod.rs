//! Pools: their configuration, start, use and end, and the global one.

pub(crate) mod builder;
mod call;
pub(crate) mod error;
pub(crate) mod global;
pub(crate) mod shutdown;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall_near;
pub(crate) mod start;
#[cfg(all(test, not(loom)))]
pub(crate) mod tests;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, PoisonError};
use std::task::Wake;

pub(crate) use builder::PoolBuilder;
use call::send_and_wait;
pub(crate) use error::BuildError;

use crate::block_on::Signal;
use crate::places::Places;
use crate::primitive::plain::{Mutex, OnceLock};
use crate::primitive::thread::{self, JoinHandle};
use crate::shared::Shared;
use crate::shared::config::{Configuration, ThreadBody};
use crate::stats::PoolStats;
use crate::worker::Worker;

/// A thread pool: workers that run tasks and steal tasks from each other.
///
/// Most programs need no pool of their own: [`join`](crate::join), [`scope`](crate::scope) and
/// [`spawn`](crate::spawn) use the [global pool](Self::global). Build one ([`Pool::builder`]) to
/// choose the number of workers, their processors or their idle policy.
///
/// # Drop
///
/// Dropping a pool runs what it has accepted. Detached closures (from [`spawn`](crate::spawn) and
/// its variants) and closures with a handle ([`spawn_task`](Self::spawn_task)) run to their ends.
/// [Futures](crate::task) are polled at least once. Then those that have returned `Pending` are
/// cancelled, the workers drop them, and the threads end.
/// [`Pool::shutdown`] waits for futures, too. There are four special cases:
///
/// - A worker of another pool drops it: another thread works under that worker's index during the
///   wait.
/// - One of its own workers drops it: the drop returns at once, and the threads end after the
///   tasks.
/// - A thread that the pool [borrows](PoolBuilder::with_current_thread) drops it: the drop runs the
///   tasks that it finds, and does not wait for the other threads to end.
/// - The program created its threads ([`PoolBuilder::build_with`]): the drop does not wait for
///   them.
///
/// # Fork
///
/// A child process that `fork` creates (on Linux) has none of the pool's threads. A pool that was
/// idle is built again, with the same configuration, at its first use in the child. The thread that
/// forked is no worker there.
///
/// If a task forks, the child continues in the middle of the task. Its process aborts when the
/// task returns, or when a wait in it needs another thread, since the other tasks belong to the
/// parent. A task that forks should own the data that it uses in the child: data that it borrows
/// from the stack of another thread is invalid there.
///
/// Do not fork while another thread builds the first pool of the process, or while any thread
/// starts or ends. Rust's standard library holds a lock at that moment, and new threads of the
/// child, as those of a pool, wait for it for ever.
///
/// # Examples
/// ```
/// use locksley::Pool;
///
/// let pool = Pool::new(4)?;
/// let (a, b) = pool.install(|worker| worker.join(|_| 6 * 7, |_| "answer"));
/// assert_eq!((a, b), (42, "answer"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub struct Pool {
    shared: Arc<Shared>,
    /// The threads that the drop waits for.
    threads: Vec<JoinHandle<()>>,
    is_detached: bool,
    /// The pool that replaces this one in a forked child, from its first use there.
    rebuilt: OnceLock<Box<Self>>,
}

impl Pool {
    /// Builds a pool of `workers` workers, with the defaults of [`PoolBuilder`] otherwise.
    ///
    /// # Errors
    /// Those of [`PoolBuilder::build`].
    ///
    /// # Examples
    /// ```
    /// use locksley::{BuildError, Pool};
    ///
    /// assert_eq!(Pool::new(2)?.workers(), 2);
    /// assert!(matches!(Pool::new(0), Err(BuildError::NoWorkers)));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn new(workers: usize) -> Result<Self, BuildError> {
        Self::builder().workers(workers).build()
    }

    /// Starts the configuration of a pool.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// The global pool, which is built at its first use and never dropped.
    ///
    /// Free functions such as [`join`](crate::join) use it on threads that are no workers.
    ///
    /// # Panics
    /// If it cannot be built, for example because `LOCKSLEY_WORKERS` is not a number.
    /// [`PoolBuilder::build_global`] returns this as an error.
    ///
    /// # Examples
    /// ```
    /// assert!(locksley::Pool::global().workers() >= 1);
    /// ```
    #[must_use]
    pub fn global() -> &'static Self {
        global::get()
    }

    /// The state for a use of the pool. Builds the pool again in a forked child.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        if !self.shared.is_in_forked_child() {
            return &self.shared;
        }
        self.rebuilt.get_or_init(|| Box::new(self.rebuild())).shared()
    }

    /// The same for a use that needs no threads: builds nothing.
    pub(crate) fn shared_now(&self) -> &Arc<Shared> {
        if !self.shared.is_in_forked_child() {
            return &self.shared;
        }
        self.rebuilt.get().map_or(&self.shared, |pool| pool.shared_now())
    }

    /// Builds the pool again, in a forked child, which has none of its threads.
    #[cold]
    fn rebuild(&self) -> Self {
        let lost = "the pool's threads were lost in a fork, and others cannot be started: the \
                    program or a library started them";
        assert!(self.shared.config.can_rebuild, "{lost}");
        let config = Configuration {
            // The thread that uses the pool first in a child is not the one that built it here.
            with_current_thread: false,
            // The child keeps these places, even if it may use other processors.
            places: Some(Arc::clone(&self.shared.place_map.places)),
            size: self.shared.config.size.map(|_| self.shared.bounds.most()),
            ..self.shared.config.clone()
        };
        start::start(config, &mut start::spawn_worker)
            .unwrap_or_else(|error| panic!("a pool could not be built again after a fork: {error}"))
    }

    /// Drops the pool without waiting for its threads.
    ///
    /// The workers finish all detached closures, cancel and drop futures that are still
    /// [tasks](crate::task), and end.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = locksley::Pool::new(2)?;
    /// let (sender, receiver) = channel();
    /// pool.spawn(move |_| sender.send("done").unwrap());
    /// pool.detach();
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn detach(mut self) {
        if let Some(pool) = self.rebuilt.take() {
            pool.detach();
        }
        self.is_detached = true;
    }

    /// The number of workers: the threads of the pool, of which at most [`size`](Self::size) are
    /// active.
    ///
    /// It is fixed. A pool whose builder sets no number has more workers than processors are
    /// granted, so that it can grow with the grant. To divide work, use
    /// [`size`](Self::size); for one element for each worker, use this.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared_now().workers
    }

    /// The number of indices: the workers, and the most guests that the pool has at a time.
    /// [`Worker::indices`] on a thread that is no worker.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).own_threads_only().build()?;
    /// assert_eq!(pool.indices(), 2);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn indices(&self) -> usize {
        self.shared_now().first_replacement()
    }

    /// The number of workers that may be active at the moment.
    ///
    /// A worker is active while it runs tasks or searches for some. The number begins with what the
    /// [builder](PoolBuilder::workers) has set; without that, with the number of processors that
    /// affinity and quotas grant. It is never less than these processors, as long as there are so
    /// many workers. Above that, it comes down by one when a worker has waited for a processor for
    /// long: more active workers would only take processors from other programs. It doubles, within
    /// milliseconds, while tasks wait and active workers block. With
    /// [`Assists::BOARD`](crate::os::Assists::BOARD) it may come down to the pool's share of the
    /// processors.
    #[must_use]
    pub fn size(&self) -> usize {
        self.shared_now().sleep.limit()
    }

    /// Sets the largest number of workers that are active at a time, from 1 to
    /// [`workers`](Self::workers).
    ///
    /// Use it to give processors to other work for a while. To grow later, build the pool with
    /// [`max_workers`](PoolBuilder::max_workers): the number of workers is fixed then.
    ///
    /// All workers keep their indices and their [data](Worker::data). They still run tasks that
    /// are sent to them alone ([`Spawn::At`](crate::Spawn::At)), and broadcasts. Workers over the
    /// limit finish their tasks and the tasks in their deques, unless other workers steal those.
    /// Then they sleep. If the size grows, workers are woken. A
    /// [borrowed thread](PoolBuilder::with_current_thread) does not count.
    ///
    /// # Errors
    /// [`BuildError::NoWorkers`] if the size is 0, and [`BuildError::TooManyWorkers`] if it is
    /// larger than [`workers`](Self::workers).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).max_workers(4).build()?;
    /// assert_eq!((pool.size(), pool.workers()), (2, 4));
    /// pool.resize(4)?;
    /// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
    /// pool.resize(1)?;
    /// assert!(pool.resize(0).is_err() && pool.resize(5).is_err());
    /// assert_eq!(pool.broadcast(|worker| worker.index()), [0, 1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, size: usize) -> Result<(), BuildError> {
        let shared = self.shared();
        BuildError::check_number(size, shared.workers)?;
        shared.resize(size);
        Ok(())
    }

    /// The places of the workers: see [`PoolBuilder::places`].
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// println!("{}", pool.places());
    /// assert!(pool.places().count() >= 1);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn places(&self) -> &Places {
        self.shared_now().places()
    }

    /// The counters and times of the workers since the pool was built. Times are
    /// [`Duration`](std::time::Duration)s: see [`WorkerStats`](crate::stats::WorkerStats).
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared_now().stats()
    }

    /// Runs `task` in this pool and returns its result.
    ///
    /// On a worker of this pool, the task runs at once, on that worker. On a thread that is no
    /// worker, it may run on that thread, as a *guest* of the pool: if the thread's last call took
    /// less than two milliseconds, the thread has about as much stack left as a worker has by
    /// default, and fewer than eight guests are there. A guest has an [index](Worker::index) of its
    /// own, behind those of the workers, and runs only the task and what the task forks.
    /// Thread-locals are then those of the calling thread.
    ///
    /// Otherwise the thread blocks until a worker has run the task. If the thread is a worker of
    /// another pool, a replacement works under its index there during the wait. Such tasks go to
    /// one queue, and workers take them in that order. Two workers may begin the tasks that they
    /// have taken in either order.
    ///
    /// A pool has no guests if its builder called
    /// [`own_threads_only`](PoolBuilder::own_threads_only), which says when else.
    ///
    /// # Panics
    /// If the task panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut text = String::from("borrowed");
    /// pool.install(|_| text.push_str(" by a worker"));
    /// assert_eq!(text, "borrowed by a worker");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn install<F, R>(&self, task: F) -> R
    where
        F: FnOnce(&Worker) -> R + Send,
        R: Send,
    {
        if Worker::with_current(|current| current.is_some()) {
            return install(self, task);
        }
        self.shared().call(task, |task| install(self, task))
    }
}

/// [`Pool::install`] that runs the task on one of the pool's own threads in any case.
///
/// For libraries that take the place of a pool whose tasks may depend on the thread that runs them,
/// such as its thread-locals.
///
/// # Panics
/// If the task panics, with its payload.
///
/// # Examples
/// ```
/// use std::thread::current;
///
/// let pool = locksley::Pool::new(1)?;
/// assert_ne!(locksley::extend::install(&pool, |_| current().id()), current().id());
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub fn install<F, R>(pool: &Pool, task: F) -> R
where
    F: FnOnce(&Worker) -> R + Send,
    R: Send,
{
    let shared = pool.shared();
    Worker::with_current(|current| match current {
        Some(worker) if worker.belongs_to(shared) => task(worker),
        _ => send_and_wait(shared, current, task),
    })
}

impl Worker {
    /// True if this is a worker of `pool`.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    ///
    /// let (one, other) = (Pool::new(1)?, Pool::new(1)?);
    /// one.install(|worker| {
    ///     assert!(worker.is_of(&one));
    ///     assert!(!worker.is_of(&other));
    /// });
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_of(&self, pool: &Pool) -> bool {
        self.belongs_to(pool.shared_now())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        if self.shared.is_in_forked_child() {
            // The child has none of these threads: a handle can neither be joined nor be dropped.
            std::mem::forget(threads);
            return;
        }
        self.shared.end_closure();
        if !self.is_detached {
            end_threads(threads, &self.shared);
        }
    }
}

/// Waits for the threads of a pool whose handle is gone, if the calling thread is not one of them.
fn end_threads(threads: Vec<JoinHandle<()>>, pool: &Arc<Shared>) {
    Worker::with_current(|current| match current {
        Some(own) if own.belongs_to(pool) => run_own_tasks(own),
        _ if threads.is_empty() => {}
        Some(foreign) if !thread::panicking() => join_as_worker(foreign, threads, pool),
        // While the thread unwinds, no task runs on top of the frame, not even at the limit of
        // replacements.
        foreign => {
            let _away = foreign.map(|worker| worker.release_index(true));
            join_all(threads, pool);
        }
    });
}

/// Runs tasks that may wait in the deque of a borrowed thread, which may never run them otherwise.
fn run_own_tasks(worker: &Worker) {
    while worker.is_borrowed() && !thread::panicking() && worker.run_one() {}
}

/// Joins the threads as a worker of another pool waits: a replacement works under its index, since
/// the pool's last tasks may need a worker there.
fn join_as_worker(foreign: &Worker, threads: Vec<JoinHandle<()>>, pool: &Arc<Shared>) {
    let have_ended = Arc::new(Signal::of(foreign));
    let threads = Arc::new(Mutex::new(threads));
    let take = |threads: &Mutex<Vec<_>>| {
        std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner))
    };
    let wait = {
        let (threads, pool) = (Arc::clone(&threads), Arc::clone(pool));
        let have_ended = Arc::clone(&have_ended);
        move || {
            join_all(take(&threads), &pool);
            have_ended.wake();
        }
    };
    match thread::Builder::new().spawn(Box::new(wait) as ThreadBody) {
        Ok(thread) => {
            foreign.wait_for_others(&have_ended.flag);
            let _ = thread.join();
        }
        Err(_) => join_all(take(&threads), pool), // no thread: block like any other thread
    }
}

fn join_all(threads: Vec<JoinHandle<()>>, pool: &Shared) {
    let join = |thread: JoinHandle<()>| {
        // A worker reports its panics itself.
        let _ = thread.join();
    };
    threads.into_iter().for_each(join);
    // When the workers have ended, no thread calls a replacement any more.
    pool.replacements.take_threads().into_iter().for_each(join);
}

// A panic of a task leaves no broken state behind in the pool.
impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .field("size", &self.size())
            .field("active", &self.shared_now().sleep.active())
            .finish_non_exhaustive()
    }
}
