//! The interface by which a recorder follows a pool: events on slow paths.
//!
//! A [`Tracer`] learns of steals, searches, parks, waits and wake-ups. It does not learn of forks:
//! what a worker does with tasks of its own is not an event. So a traced pool, unlike an observed
//! one, runs the same instructions for a fork as any other.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

/// Something that happened to the calling thread, or that it did. Numbers of workers are slots,
/// as for an [`Observer`](crate::extend::Observer), unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The thread becomes a worker, for one call if it is a caller's.
    Attached {
        /// The slot of the worker.
        slot: usize,
        /// The place of the worker, or of the one that a replacement replaces first.
        place: usize,
    },
    /// A caller's call has ended: the thread is what it was before its last `Attached`.
    Detached,
    /// A task begins that was stolen from this worker, or, if that is the running one, was sent to
    /// it or to the pool. Such tasks nest.
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
        /// How many tasks its deque holds now, or a moment ago.
        left: usize,
    },
    /// The worker has no work, and is about to block.
    Parks(SleepRole),
    /// The thread may block: a task waits or is in a [blocking call](crate::blocking()), or the
    /// replacement has no worker to replace.
    Blocks,
    /// The thread runs again.
    Unparks,
    /// The thread wakes the worker of this slot, which sleeps.
    Wakes(usize),
    /// The running task waits for others, and there is nothing that it may run meanwhile.
    Waits,
    /// That wait is over.
    Resumes,
    /// The thread is about to complete what the worker of this slot may wait for, or has done so.
    Signals(usize),
    /// The worker, which searches, gives its processor to this one, which was preempted.
    HandsOver(usize),
    /// From now on so many workers may be awake: the pool was resized, or its quota or the
    /// affinity has changed.
    Allows(usize),
    /// The system forbids what opens the closed deques of others: their owners do it later.
    LosesAssist,
}

/// The role of a sleeping worker: which tasks it leaves to others, and whether it parks with a
/// timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepRole {
    /// Leaves nothing: it looks at all queues before it parks.
    Ordinary,
    /// Over the limit: leaves pushed tasks to the sentinel.
    Spare,
    /// Over the limit, and the sentinel: leaves pushed tasks to itself, until its timeout.
    Sentinel,
    /// Within the limit: leaves nothing, but parks with a timeout. It is the sentinel if the limit
    /// is reached again.
    ReserveSentinel,
}

impl SleepRole {
    pub(crate) fn is_sentinel(self) -> bool {
        matches!(self, Self::Sentinel | Self::ReserveSentinel)
    }
}

/// Records what happens on the slow paths of a pool. Set by
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
    /// Records an event, on the thread that it happens to. That is a worker's, except that any
    /// thread can be the one that wakes a worker.
    ///
    /// Must not block and must not use the pool. A panic ends the process.
    fn record(&self, event: Event);

    /// The pool is built, and can be resized by what this is given.
    fn attach(&self, _pool: Arc<dyn PoolSize>) {}

    /// A library begins something with a name on the calling thread: a process, an interval.
    fn begin_span(&self, _name: &str) {}

    /// What began last on the calling thread ends.
    fn end_span(&self) {}

    /// Something with a name happens on the calling thread: a process waits for a channel.
    fn mark(&self, _name: &str) {}
}

/// The size of a pool that may end meanwhile.
pub trait PoolSize: Debug + Send + Sync {
    /// As [`Pool::size`](crate::Pool::size). `None` if the pool has ended.
    fn size(&self) -> Option<usize>;

    /// As [`Pool::resize`](crate::Pool::resize). Returns false, and does nothing, if the pool has
    /// ended or cannot have this size.
    fn resize(&self, size: usize) -> bool;
}

static FOR_ALL_POOLS: OnceLock<fn() -> Arc<dyn Tracer>> = OnceLock::new();

/// Gives a tracer to each pool that is built from now on without one of its own. Returns false if
/// this was called before: then it changes nothing.
pub fn trace_pools(make: fn() -> Arc<dyn Tracer>) -> bool {
    FOR_ALL_POOLS.set(make).is_ok()
}

/// A new tracer, if [`trace_pools`] was called.
pub(crate) fn default_tracer() -> Option<Arc<dyn Tracer>> {
    FOR_ALL_POOLS.get().map(|make| make())
}
