//! Tasks that each thread of a pool runs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use locksley::{Pool, Spawn, Worker, extend};

use crate::global::with_default_pool;
use crate::spawn::run;

/// Held while a broadcast is sent. A forked child has another one: the parent's may be held by a
/// thread that the child does not have.
struct Order {
    generation: u32,
    lock: Mutex<()>,
    child: OnceLock<Box<Self>>,
}

impl Order {
    const fn new(generation: u32) -> Self {
        Self { generation, lock: Mutex::new(()), child: OnceLock::new() }
    }

    /// The one of this process.
    fn get() -> &'static Self {
        static FIRST: Order = Order::new(0);
        let mut order = &FIRST;
        while order.generation != extend::generation() {
            order = order.child.get_or_init(|| Box::new(Self::new(extend::generation())));
        }
        order
    }
}

/// Waits for the order in which broadcasts are sent: all threads get them in the same order, since
/// a program may wait at a barrier in two of them at once, as with rayon. Locksley's own broadcasts
/// have no lock, and no such order.
fn lock_order() -> MutexGuard<'static, ()> {
    Order::get().lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a broadcast that is not waited for.
pub(crate) fn in_order<F>(task: F, send: impl FnOnce(Arc<F>)) {
    let task = Arc::new(task);
    let sent = Arc::clone(&task);
    // Released before `task` is dropped: where its captures broadcast in turn, the lock is free.
    let _order = lock_order();
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
    with_default_pool(|pool| broadcast_in(pool, op))
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
    let op = move |worker: &Worker| run(worker, || op(BroadcastContext::new(worker)));
    with_default_pool(|pool| match pool {
        Some(pool) => spawn_broadcast_in(pool, op),
        None => spawn_broadcast_here(op),
    });
}

/// [`spawn_broadcast`] in the calling worker's pool.
fn spawn_broadcast_here<F>(task: F)
where
    F: Fn(&Worker) + Send + Sync + 'static,
{
    let threads = crate::current_num_threads();
    in_order(task, |task| {
        for index in 0..threads {
            let task = Arc::clone(&task);
            let here = move |current: Option<&Worker>| {
                task(current.expect("tasks run on workers"));
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

/// [`broadcast`] in a given pool, or else in the calling worker's.
pub(crate) fn broadcast_in<OP, R>(pool: Option<&Pool>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    extend::broadcast(pool, lock_order, |worker| op(BroadcastContext::new(worker)))
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
