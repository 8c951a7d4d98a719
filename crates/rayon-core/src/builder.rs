//! The builder of pools.

use std::any::Any;
use std::fmt;
use std::io;

use locksley::{BuildError, Pool, PoolBuilder, WorkerThread, extend};

use crate::environment::default_threads;
use crate::spawn::unwaited;
use crate::thread::{CustomSpawn, DefaultSpawn, ThreadSpawn};
use crate::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, max_num_threads};

/// The limit of threads that replace waiting ones.
const REPLACEMENTS: usize = 256;

type ThreadName = Box<dyn FnMut(usize) -> String>;
type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
type ThreadHandler = Box<dyn Fn(usize) + Send + Sync>;

/// Configures a [`ThreadPool`], or the global pool.
///
/// # Examples
/// ```
/// use rayon_core::ThreadPoolBuilder;
///
/// let pool = ThreadPoolBuilder::new()
///     .num_threads(4)
///     .thread_name(|index| format!("painter {index}"))
///     .build()?;
/// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
/// assert!(name.unwrap().starts_with("painter "));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    thread_name: Option<ThreadName>,
    stack_size: Option<usize>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<ThreadHandler>,
    exit_handler: Option<ThreadHandler>,
    spawn_handler: S,
    breadth_first: bool,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            use_current_thread: false,
            thread_name: None,
            stack_size: None,
            panic_handler: None,
            start_handler: None,
            exit_handler: None,
            spawn_handler: DefaultSpawn,
            breadth_first: false,
        }
    }
}

impl ThreadPoolBuilder {
    /// One that leaves everything as it is by default.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().build()?;
    /// assert!(pool.current_num_threads() >= 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool with threads that may borrow: each of them calls `wrapper`, which calls
    /// [`ThreadBuilder::run`], and all have ended when this returns. Meanwhile `with_pool` uses the
    /// pool.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let started = AtomicUsize::new(0);
    /// let wrapper = |thread: rayon_core::ThreadBuilder| {
    ///     started.fetch_add(1, Ordering::Relaxed);
    ///     thread.run();
    /// };
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// let sum = builder.build_scoped(wrapper, |pool| pool.install(|| 1 + 2))?;
    /// assert_eq!((sum, started.into_inner()), (3, 2));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        std::thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                thread.as_std().spawn_scoped(scope, move || wrapper(thread)).map(drop)
            };
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S> ThreadPoolBuilder<S>
where
    S: ThreadSpawn,
{
    /// Builds the pool. Its threads may still be starting when this returns.
    ///
    /// # Errors
    /// If a thread is refused, with what the system or the [`spawn_handler`](Self::spawn_handler)
    /// said; if the calling thread is to be [used](Self::use_current_thread) and belongs to a pool
    /// already; or if `LOCKSLEY_WORKERS` sets the number of threads and is not a positive number.
    ///
    /// # Examples
    /// ```
    /// use rayon_core::ThreadPoolBuilder;
    ///
    /// let refuse = |_| Err(std::io::Error::other("no more threads today"));
    /// let refused = ThreadPoolBuilder::new().num_threads(1).spawn_handler(refuse).build();
    /// assert_eq!(refused.unwrap_err().to_string(), "no more threads today");
    /// ```
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (pool, spawn) = self.into_parts()?;
        Ok(ThreadPool { pool: Some(pool.build_with(spawn)?) })
    }

    /// Makes this the global pool, for Locksley as for rayon. Without this call, the global pool is
    /// built at its first use. The threads may still be starting when this returns.
    ///
    /// # Errors
    /// If the global pool exists already, because it was built or used, under whichever name; and
    /// those of [`build`](Self::build).
    ///
    /// # Examples
    /// ```
    /// use rayon_core::ThreadPoolBuilder;
    ///
    /// ThreadPoolBuilder::new().num_threads(3).build_global()?;
    /// assert_eq!(rayon_core::current_num_threads(), 3);
    /// assert!(ThreadPoolBuilder::new().build_global().is_err(), "it exists already");
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        if extend::global().is_some() {
            return Err(BuildError::GlobalPoolExists.into());
        }
        let (pool, spawn) = self.into_parts()?;
        Ok(pool.build_global_with(spawn)?)
    }

    /// The pool to build, and the function that gives its workers their threads.
    pub(crate) fn into_parts(
        self,
    ) -> Result<(PoolBuilder, impl FnMut(WorkerThread) -> io::Result<()>), BuildError> {
        let threads = match self.num_threads {
            0 => default_threads()?,
            threads => threads.min(max_num_threads()),
        };
        let mut pool = Pool::builder().workers(threads).start_in_background();
        if S::IS_DEFAULT {
            // Threads of a handler may have what others do not, so that nothing can replace them.
            pool = pool.replacements(REPLACEMENTS);
        }
        if let Some(bytes) = self.stack_size {
            pool = pool.stack_size(bytes); // of replacements
        }
        if self.use_current_thread {
            pool = pool.with_current_thread();
        }
        if self.breadth_first {
            pool = pool.oldest_first();
        }
        let is_handled = self.panic_handler.is_some();
        let checked = |handler: ThreadHandler| move |index| unwaited(is_handled, || handler(index));
        if let Some(handler) = self.start_handler {
            pool = pool.on_start(checked(handler));
        }
        if let Some(handler) = self.exit_handler {
            pool = pool.on_exit(checked(handler));
        }
        if let Some(handler) = self.panic_handler {
            pool = pool.panic_handler(handler);
        }
        let Self { mut thread_name, stack_size, mut spawn_handler, .. } = self;
        let spawn = move |worker: WorkerThread| {
            let name = thread_name.as_mut().map(|name| name(worker.index()));
            spawn_handler.spawn(ThreadBuilder { name, stack_size, worker })
        };
        Ok((pool, spawn))
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets the number of threads: this many threads run tasks, and never more at a time.
    ///
    /// If it is not set, or 0, the first of these environment variables that is set gives the
    /// number: `LOCKSLEY_WORKERS`, `RAYON_NUM_THREADS`, the older `RAYON_RS_NUM_CPUS`. Without
    /// them, it is the number of processors that affinity and control-group quota allow when the
    /// pool is built. A larger number than [`max_num_threads`] means that.
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(5).build()?;
    /// assert_eq!(pool.current_num_threads(), 5);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { num_threads, ..self }
    }

    /// The calling thread becomes thread 0 of the pool, for as long as it lives. It runs tasks only
    /// while it waits for some, and in [`yield_now`](crate::yield_now) and
    /// [`yield_local`](crate::yield_local). Its waits run any task, as rayon's do. No handler is
    /// called for it, and it has no replacement. What belongs to it is never freed.
    ///
    /// # Examples
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.use_current_thread().build()?;
    /// assert_eq!(rayon_core::current_thread_index(), Some(0));
    /// let caller = std::thread::current().id();
    /// assert_eq!(pool.install(|| std::thread::current().id()), caller);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn use_current_thread(self) -> Self {
        Self { use_current_thread: true, ..self }
    }

    /// The threads' names, by number. If not set, they have none. Replacements have names like
    /// `locksley-1'`.
    ///
    /// # Examples
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.thread_name(|index| format!("painter {index}")).build()?;
    /// let names = pool.broadcast(|_| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(names[1].as_deref(), Some("painter 1"));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Self { thread_name: Some(Box::new(closure)), ..self }
    }

    /// The size of each thread's stack in bytes. If not set, the standard library decides.
    ///
    /// # Examples
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.stack_size(16 << 20).build()?;
    /// let large = || std::hint::black_box([1_u8; 2 << 20]).len();
    /// assert_eq!(pool.install(large), 2 << 20);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self { stack_size: Some(stack_size), ..self }
    }

    /// Called with the payload of a panic that no task waits for: of a spawned task, or of a
    /// handler. If not set, or if the handler panics, the process ends.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder
    ///     .panic_handler(move |payload| sender.send(*payload.downcast::<u32>().unwrap()).unwrap())
    ///     .build()?;
    /// pool.spawn(|| std::panic::panic_any(7_u32));
    /// assert_eq!(receiver.recv(), Ok(7));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Self { panic_handler: Some(Box::new(panic_handler)), ..self }
    }

    /// Called on each thread before it works, with its number. After a panic, which goes to the
    /// [`panic_handler`](Self::panic_handler), the thread works all the same.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.start_handler(move |index| sender.send(index).unwrap()).build()?;
    /// assert_eq!(receiver.iter().take(2).sum::<usize>(), 0 + 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self { start_handler: Some(Box::new(start_handler)), ..self }
    }

    /// Called on each thread after it has worked, with its number. A panic goes to the
    /// [`panic_handler`](Self::panic_handler).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// drop(builder.exit_handler(move |index| sender.send(index).unwrap()).build()?);
    /// assert_eq!(receiver.iter().sum::<usize>(), 0 + 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Self { exit_handler: Some(Box::new(exit_handler)), ..self }
    }

    /// Called for each thread, to start it: [`ThreadBuilder::run`] is to be called on another
    /// thread.
    ///
    /// To wait for the threads to end is up to the caller; they do when the pool has been dropped
    /// and its tasks have ended.
    ///
    /// # Examples
    /// ```
    /// let mut threads = Vec::new();
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         threads.push(std::thread::spawn(|| thread.run()));
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// drop(pool);
    /// threads.into_iter().for_each(|thread| thread.join().unwrap());
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            spawn_handler: CustomSpawn(spawn),
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            panic_handler: self.panic_handler,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            breadth_first: self.breadth_first,
        }
    }

    /// Threads take their own tasks oldest first.
    ///
    /// # Examples
    /// ```
    /// # #![allow(deprecated)]
    /// let mut order = std::sync::Mutex::new(Vec::new());
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// builder.breadth_first().build()?.scope(|scope| {
    ///     for n in 0..3 {
    ///         let order = &order;
    ///         scope.spawn(move |_| order.lock().unwrap().push(n));
    ///     }
    /// });
    /// assert_eq!(order.get_mut().unwrap(), &[0, 1, 2]);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(self) -> Self {
        Self { breadth_first: true, ..self }
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn shown<T>(closure: &Option<T>) -> Option<fmt::Arguments<'static>> {
            closure.as_ref().map(|_| format_args!("<closure>"))
        }
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("get_thread_name", &shown(&self.thread_name))
            .field("panic_handler", &shown(&self.panic_handler))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &shown(&self.start_handler))
            .field("exit_handler", &shown(&self.exit_handler))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}
