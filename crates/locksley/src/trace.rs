//! Tracing of a pool's slow paths.
//!
//! A [`Tracer`] records steals, searches, parks, waits and wake-ups, but not what a worker does
//! with tasks of its own deque. So tracing, unlike observing, adds no instruction to a fork.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

/// An event of the calling thread. Workers are identified by their slots, as for an
/// [`Observer`](crate::extend::Observer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The thread becomes a worker. A thread outside of the pool may do so for one call.
    Attached {
        /// The slot of the worker.
        slot: usize,
        /// The place of the worker. For a replacement, that of the first worker it replaces.
        place: usize,
    },
    /// Such a call ends. Undoes the thread's last `Attached`.
    Detached,
    /// A task begins. It was stolen from the worker of this slot. If that is the running worker, it
    /// was sent to the worker, its place or the pool; such a task is left out if it runs on top of
    /// another one. Tasks nest.
    TaskBegins(usize),
    /// The task that began last ends.
    TaskEnds,
    /// The worker has no tasks, and begins to search.
    SearchBegins,
    /// The search is over.
    SearchEnds,
    /// The worker took a task from another one.
    Steals {
        /// The worker that had the task.
        victim: usize,
        /// The number of tasks that were left in its deque a moment ago.
        left: usize,
    },
    /// The worker has no work, and is about to block.
    Parks(SleepRole),
    /// The thread may block: its task waits or is in a [blocking call](crate::blocking()), or it is
    /// a replacement without a worker to replace.
    Blocks,
    /// Ends the last `Parks` or `Blocks`.
    Unparks,
    /// The thread wakes the worker of this slot, which sleeps.
    Wakes(usize),
    /// The running task waits for others, and the worker finds no task that it may run meanwhile.
    Waits,
    /// Ends the last `Waits`.
    Resumes,
    /// The thread completes what the worker of this slot may wait for. Recorded before or after.
    Signals(usize),
    /// The worker, which searches, yields its processor to the worker of this slot, which was
    /// preempted.
    HandsOver(usize),
    /// From now on so many workers may be active.
    Allows(usize),
    /// The system refuses the barrier that opens closed deques of others. Their owners open them.
    LosesAssist,
}

/// The role of a sleeping worker. The limit is the number of workers that may be active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SleepRole {
    /// Within the limit: looks at all queues before it parks.
    Ordinary,
    /// Over the limit: leaves tasks to the active workers, and to the monitor.
    OverLimit,
    /// Over the limit, and the monitor: looks from time to time whether the active workers block
    /// while tasks wait, and then raises the limit.
    Monitor,
}

/// Records the events of a pool's slow paths. Set by
/// [`PoolBuilder::tracer`](crate::PoolBuilder::tracer), or for all pools by [`trace_pools`].
///
/// # Examples
/// ```
/// use std::sync::Mutex;
///
/// use locksley::extend::{Event, Tracer};
///
/// #[derive(Debug)]
/// struct Log(Mutex<Vec<Event>>);
///
/// impl Tracer for &'static Log {
///     fn record(&self, event: Event) {
///         self.0.lock().unwrap().push(event);
///     }
/// }
///
/// static LOG: Log = Log(Mutex::new(Vec::new()));
/// let pool = locksley::Pool::builder().workers(1).own_threads_only().tracer(&LOG).build()?;
/// pool.install(|_| ());
/// drop(pool);
/// assert!(LOG.0.lock().unwrap().contains(&Event::TaskBegins(0)));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub trait Tracer: Debug + Send + Sync + 'static {
    /// Records an event of the calling thread, which is a worker. Only `Wakes`, `Signals`, `Allows`
    /// and `LosesAssist` are also recorded on other threads.
    ///
    /// Must not block or use the pool. A panic ends the process.
    fn record(&self, event: Event);

    /// Called when the pool is built. `_pool` reads its state, and changes its size.
    fn attach(&self, _pool: Arc<dyn PoolHandle>) {}

    /// A library begins to use queues, for example a network's channels.
    fn attach_queues(&self, _queues: Arc<dyn Queues>) {}

    /// A library begins a named span on the calling thread, for example a process or an interval.
    fn begin_span(&self, _name: &str) {}

    /// The innermost span of the calling thread ends.
    fn end_span(&self) {}

    /// Marks a named moment on the calling thread, for example that a process waits for a channel.
    fn mark(&self, _name: &str) {}
}

/// A weak handle of a pool, for other threads.
pub trait PoolHandle: Debug + Send + Sync {
    /// As [`Pool::size`](crate::Pool::size). `None` if the pool has ended.
    fn size(&self) -> Option<usize>;

    /// As [`Pool::resize`](crate::Pool::resize). Returns false, and changes nothing, if the pool
    /// has ended or `size` is not between 1 and its number of workers.
    fn resize(&self, size: usize) -> bool;

    /// The number of tasks in the deque of each slot, as thieves see them: an estimate.
    fn queued(&self) -> Vec<usize>;
}

/// A weak handle of queues.
pub trait Queues: Debug + Send + Sync {
    /// Calls `_read` with the name and the length of each queue. Returns false if they have ended.
    fn read(&self, _read: &mut dyn FnMut(&str, usize)) -> bool;
}

static FOR_ALL_POOLS: OnceLock<fn() -> Arc<dyn Tracer>> = OnceLock::new();

/// Sets a function that makes a tracer for each pool that is later built without one. Returns
/// false, and changes nothing, if it was set before.
pub fn trace_pools(make: fn() -> Arc<dyn Tracer>) -> bool {
    FOR_ALL_POOLS.set(make).is_ok()
}

/// A new tracer, if [`trace_pools`] was called.
pub(crate) fn default_tracer() -> Option<Arc<dyn Tracer>> {
    FOR_ALL_POOLS.get().map(|make| make())
}
