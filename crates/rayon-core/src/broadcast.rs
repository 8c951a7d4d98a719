//! Tasks that each thread of a pool runs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use locksley::{Pool, Scope, Spawn, Worker};

/// Held while a broadcast is sent.
static ORDER: Mutex<()> = Mutex::new(());

/// Sends a broadcast before or after any other, so that all threads get them in the same order: as
/// with rayon, a program may wait at a barrier in two of them at once. Locksley's own broadcasts
/// have no lock, and no such order.
pub(crate) fn in_order<F>(task: F, send: impl FnOnce(Arc<F>)) {
    let task = Arc::new(task);
    let sent = Arc::clone(&task);
    // Released before `task` is dropped: where its captures broadcast in turn, the lock is free.
    let _order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
    send(sent);
}

/// Has each thread of the calling worker's pool, or else of the global one, run `op`, and returns
/// what they returned, in the order of the threads.
///
/// A thread runs it when it has nothing else of its own to do, before it looks for the tasks of
/// others.
///
/// # Panics
/// If `op` panics on some thread, with one such payload, after it has ended on all.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// let squares = pool.install(|| rayon_core::broadcast(|context| context.index().pow(2)));
/// assert_eq!(squares, [0, 1, 4]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results = Results::new(crate::current_num_threads());
    locksley::in_place_scope(|scope| results.collect(scope, &op));
    results.into_vec()
}

/// Accepts a task that each thread of the calling worker's pool, or else of the global one, runs
/// once.
///
/// Its panics go to the pool's [`panic_handler`](crate::ThreadPoolBuilder::panic_handler); where
/// there is none, the process ends.
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
///
/// let (sender, receiver) = channel();
/// rayon_core::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.iter().count(), rayon_core::current_num_threads());
/// ```
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let threads = crate::current_num_threads();
    in_order(op, |op| {
        for index in 0..threads {
            let op = Arc::clone(&op);
            let here = move |current: Option<&Worker>| {
                op(BroadcastContext::new(current.expect("tasks run on workers")));
            };
            locksley::spawn_with(Spawn::At(index), || Worker::with_current(here));
        }
    });
}

pub(crate) fn spawn_broadcast_in<F>(pool: &Pool, task: F)
where
    F: Fn(&Worker) + Send + Sync + 'static,
{
    in_order(task, |task| pool.spawn_broadcast(move |worker| task(worker)));
}

/// [`broadcast`] in a given pool.
pub(crate) fn broadcast_in<OP, R>(pool: &Pool, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results = Results::new(pool.workers());
    pool.in_place_scope(|scope| results.collect(scope, &op));
    results.into_vec()
}

/// A place for what each thread returns.
struct Results<R>(Vec<Mutex<Option<R>>>);

impl<R: Send> Results<R> {
    fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Mutex::new(None)).collect())
    }

    fn collect<'scope, OP>(&'scope self, scope: &Scope<'scope>, op: &'scope OP)
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
    {
        let task = |worker: &Worker, _: &Scope<'scope>| {
            let result = op(BroadcastContext::new(worker));
            *self.0[worker.index()].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        in_order(task, |task| scope.spawn_broadcast(move |worker, scope| task(worker, scope)));
    }

    fn into_vec(self) -> Vec<R> {
        let results = self.0.into_iter().map(|slot| {
            let result = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            result.expect("the scope has waited for all threads, and none has panicked")
        });
        results.collect()
    }
}

/// What a task of a broadcast may know.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// let shares = pool.broadcast(|context| (context.index(), context.num_threads()));
/// assert_eq!(shares, [(0, 3), (1, 3), (2, 3)]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// Of the thread that runs the task: it goes to no other.
    stays: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    pub(crate) fn new(worker: &Worker) -> Self {
        Self { index: worker.index(), num_threads: worker.workers(), stays: PhantomData }
    }

    /// The number of the thread that runs the task, from 0.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many threads run the task.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish()
    }
}
