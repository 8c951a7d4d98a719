//! A pool of one's own.

use std::fmt;

use locksley::{Pool, Worker, extend};

use crate::broadcast::{broadcast_in, spawn_broadcast_in};
use crate::spawn::run;
use crate::yielding::{run_local, run_one};
use crate::{BroadcastContext, Scope, ScopeFifo, Yield};

/// A pool of threads of one's own. Made by [`ThreadPoolBuilder`](crate::ThreadPoolBuilder).
///
/// Dropping it returns at once; its threads end when the tasks that were spawned have.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(8).build()?;
/// let sum = pool.install(|| {
///     let (a, b) = rayon_core::join(|| 20, || 22);
///     a + b
/// });
/// assert_eq!(sum, 42);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    /// There until it is dropped.
    pub(crate) pool: Option<Pool>,
}

impl ThreadPool {
    fn pool(&self) -> &Pool {
        self.pool.as_ref().expect("there until it is dropped")
    }

    /// Calls `use_it` with the worker that the calling thread is, if it is one of this pool.
    fn with_own<R>(&self, use_it: impl FnOnce(&Worker) -> R) -> Option<R> {
        Worker::with_current(|current| {
            current.filter(|worker| worker.is_of(self.pool())).map(use_it)
        })
    }

    /// Runs `op` in the pool and waits for what it returns. What `op` calls then happens in this
    /// pool as well.
    ///
    /// # Panics
    /// If `op` panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.install(rayon_core::current_num_threads), 2);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        extend::install(self.pool(), |_| op())
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// # Panics
    /// If `op` panics on some thread, with one such payload, after it has ended on all.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.broadcast(|context| 10 * context.index()), [0, 10]);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(Some(self.pool()), op)
    }

    /// How many threads it has.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_num_threads(), 2);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool().workers()
    }

    /// The calling thread's number in this pool; none where it does not belong to it.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert!(pool.install(|| pool.current_thread_index()).is_some_and(|index| index < 2));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.with_own(Worker::index)
    }

    /// Whether tasks wait in the calling thread's own deque; none where it does not belong to this
    /// pool.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None);
    /// pool.install(|| {
    ///     assert_eq!(pool.current_thread_has_pending_tasks(), Some(false));
    ///     rayon_core::spawn(|| ());
    ///     assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
    /// });
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.with_own(Worker::has_own_tasks)
    }

    /// [`join`](crate::join()) in this pool.
    ///
    /// # Panics
    /// As [`join`](crate::join()).
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (mut left, mut right) = ([3, 1, 2], [6, 5, 4]);
    /// pool.join(|| left.sort(), || right.sort());
    /// assert_eq!((left, right), ([1, 2, 3], [4, 5, 6]));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        extend::install(self.pool(), |worker| worker.join(|_| oper_a(), |_| oper_b()))
    }

    /// [`scope`](crate::scope()) in this pool.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (mut one, mut two) = (0, 0);
    /// pool.scope(|scope| {
    ///     scope.spawn(|_| one = 1);
    ///     scope.spawn(|_| two = 2);
    /// });
    /// assert_eq!((one, two), (1, 2));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        extend::install(self.pool(), |_| crate::scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo()) in this pool.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let mut text = std::sync::Mutex::new(String::new());
    /// pool.scope_fifo(|scope| {
    ///     for word in ["in ", "this ", "order"] {
    ///         let text = &text;
    ///         scope.spawn_fifo(move |_| text.lock().unwrap().push_str(word));
    ///     }
    /// });
    /// assert_eq!(text.get_mut().unwrap(), "in this order");
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        extend::install(self.pool(), |_| crate::scope_fifo(op))
    }

    /// Runs `op` on the calling thread, and what it spawns in this pool.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let caller = std::thread::current().id();
    /// let mut number = 1;
    /// pool.in_place_scope(|scope| {
    ///     assert_eq!(std::thread::current().id(), caller);
    ///     scope.spawn(|_| number += 1);
    /// });
    /// assert_eq!(number, 2);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool().in_place_scope(|scope| op(Scope::of(scope)))
    }

    /// Runs `op` on the calling thread, and what it spawns in this pool, in order.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let mut text = std::sync::Mutex::new(String::new());
    /// pool.in_place_scope_fifo(|scope| {
    ///     for word in ["in ", "this ", "order"] {
    ///         let text = &text;
    ///         scope.spawn_fifo(move |_| text.lock().unwrap().push_str(word));
    ///     }
    /// });
    /// assert_eq!(text.get_mut().unwrap(), "in this order");
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.pool().in_place_scope(|scope| op(ScopeFifo::of(scope)))
    }

    /// [`spawn`](crate::spawn()) into this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(rayon_core::current_num_threads()).unwrap());
    /// assert_eq!(receiver.recv(), Ok(2));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool().spawn(|worker| run(worker, op));
    }

    /// [`spawn_fifo`](crate::spawn_fifo()) into this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// for n in 0..3 {
    ///     let sender = sender.clone();
    ///     pool.spawn_fifo(move || sender.send(n).unwrap());
    /// }
    /// drop(sender);
    /// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool().spawn_with(locksley::Spawn::Fifo, |worker| run(worker, op));
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast()) into this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    /// assert_eq!(receiver.iter().sum::<usize>(), 0 + 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(self.pool(), move |worker| {
            run(worker, || op(BroadcastContext::new(worker)));
        });
    }

    /// [`yield_now`](crate::yield_now()), where the calling thread belongs to this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// use rayon_core::Yield;
    ///
    /// assert_eq!(pool.yield_now(), None);
    /// pool.install(|| {
    ///     pool.spawn(|| ());
    ///     assert_eq!(pool.yield_now(), Some(Yield::Executed));
    ///     assert_eq!(pool.yield_now(), Some(Yield::Idle));
    /// });
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.with_own(run_one)
    }

    /// [`yield_local`](crate::yield_local()), where the calling thread belongs to this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// use rayon_core::Yield;
    ///
    /// assert_eq!(pool.yield_local(), None);
    /// pool.install(|| {
    ///     pool.spawn(|| ());
    ///     assert_eq!(pool.yield_local(), Some(Yield::Executed));
    ///     assert_eq!(pool.yield_local(), Some(Yield::Idle));
    /// });
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.with_own(run_local)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.detach();
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}
