//! The configuration of a pool.

use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::error::BuildError;
use super::start::{self, Spawn, WorkerThread, spawn_worker};
use super::{Pool, global};
use crate::idle::IdlePolicy;
use crate::observe::Observer;
use crate::os::{self, Assists, Processors};
use crate::places::Places;
use crate::shared::config::{Affinity, Configuration, PolicyOfPool};
use crate::shared::placement::Placement;
use crate::sleep::MAX_WORKERS;
use crate::trace::{Tracer, default_tracer};
use crate::tuning::GROWTH;

/// Configures a [`Pool`]. Created by [`Pool::builder`].
///
/// # Examples
/// ```
/// let pool = locksley::Pool::builder()
///     .workers(4)
///     .thread_name(|index| format!("painter {index}"))
///     .stack_size(8 << 20)
///     .on_start(|index| eprintln!("worker {index} starts"))
///     .panic_handler(|payload| eprintln!("a detached task panicked: {payload:?}"))
///     .build()?;
/// assert_eq!(pool.workers(), 4);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct PoolBuilder {
    workers: Option<usize>,
    max_workers: Option<usize>,
    thread_name: Option<Box<dyn Fn(usize) -> String>>,
    assists: Option<Assists>,
    config: Configuration,
}

impl PoolBuilder {
    /// Sets the number of workers, from 1 to 65,534.
    ///
    /// Default: the environment variable `LOCKSLEY_WORKERS`, unless it is unset or empty. Without
    /// it, the pool follows what the system allows.
    ///
    /// # A number that is set
    ///
    /// All of these workers may be active at a time: also if all their tasks block. While they wait
    /// for processors, fewer are active ([`Pool::size`]).
    ///
    /// # A pool that follows the system
    ///
    /// The pool lets [`Processors::count`] workers be active at first. It has more workers, which
    /// sleep until more are granted: at most four times as many, and at most one for each processor
    /// of the machine. [`max_workers`](Self::max_workers) replaces this number. While the pool
    /// works, its workers read the affinity of its threads and the quotas of the control group ten
    /// times a second.
    ///
    /// If the threads of sleeping workers cannot be started, the other workers end, and the pool is
    /// started again with only the workers that may be active. Hooks then run a second time.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, os::Processors};
    ///
    /// let pool = Pool::builder().build()?;
    /// assert!(pool.size() <= pool.workers());
    /// println!("{} of {} for {:?}", pool.size(), pool.workers(), Processors::allowed());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn workers(self, workers: usize) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// Sets the largest size that [`Pool::resize`] can choose: the pool starts this many threads.
    ///
    /// [`workers`](Self::workers) then sets the size at the beginning. Default: the number of
    /// [`workers`](Self::workers), or its default.
    ///
    /// # Examples
    /// See [`Pool::resize`].
    pub fn max_workers(self, most: usize) -> Self {
        Self { max_workers: Some(most), ..self }
    }

    /// Sets the names of the threads, by [`Worker::index`](crate::Worker::index). A name must not
    /// contain a NUL byte. Default: `locksley-0` and so on.
    pub fn thread_name(self, name: impl Fn(usize) -> String + 'static) -> Self {
        Self { thread_name: Some(Box::new(name)), ..self }
    }

    /// Sets the stack size of each worker in bytes. Default: that of the standard library.
    ///
    /// Joins nest on the stack of the worker, so a deep recursion may need more. A stack overflow
    /// ends the process, with a message that names the thread.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets which processors the workers may run on. Default: [`Affinity::Process`].
    pub fn affinity(mut self, affinity: Affinity) -> Self {
        self.config.affinity = affinity;
        self
    }

    /// Sets how the workers are divided into places: groups of processors that are near each other.
    ///
    /// Default: [`Places::found`] divides the processors of the process by the outermost cache or
    /// memory level that has at least two parts. If a part would get fewer than two workers, there
    /// is one place.
    ///
    /// The number of workers of a place is in proportion to its processors. Workers with adjacent
    /// [indices](crate::Worker::index) are in the same place. If there are fewer workers than
    /// places, some places have none.
    ///
    /// A worker searches its own place first. It takes tasks that were sent to another place before
    /// it sleeps.
    ///
    /// [`Spawn::Near`](crate::Spawn::Near) and [`Par::by_place`](crate::loops::Par::by_place) send
    /// tasks to a place. [`WorkerStats::out_of_place`](crate::stats::WorkerStats::out_of_place)
    /// counts the tasks that were taken from another place.
    ///
    /// A worker may run on any processor unless [`Affinity::Place`] binds it to those of its place.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley::places::Places;
    ///
    /// let places = Places::given(&"0-3".parse()?, ["0-2".parse()?, "3".parse()?])?;
    /// let pool = Pool::builder().workers(4).places(places).build()?;
    /// assert_eq!(pool.broadcast(|worker| worker.place()), [0, 0, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn places(mut self, places: Places) -> Self {
        self.config.places = Some(Arc::new(places));
        self
    }

    /// Sets what workers without work do. Default: [`Balanced`](crate::idle::Balanced).
    pub fn idle_policy(mut self, idle_policy: impl IdlePolicy) -> Self {
        self.config.idle_policy = PolicyOfPool(Arc::new(idle_policy));
        self
    }

    /// Sets which optional features of the kernel the pool uses, where they work.
    ///
    /// Default: those that the environment variable `LOCKSLEY_ASSISTS` names, as [`Assists`] parses
    /// it. If it is unset or empty: [`Assists::ALL`].
    pub fn assists(mut self, assists: Assists) -> Self {
        self.assists = Some(assists);
        self
    }

    /// Sets a hook that each worker's thread calls before its first task, with the worker's index.
    ///
    /// It runs again for the first workers if the pool is [started again](Self::workers) with
    /// fewer.
    ///
    /// The thread that builds the pool waits for the hook, so the hook must not wait for that
    /// thread. A panic in the hook makes [`build`](Self::build) fail with [`BuildError::Hook`]. If
    /// the pool is the global one, a hook that uses the global pool panics.
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Arc::new(hook));
        self
    }

    /// Sets a hook that each worker's thread calls after its last task, with the worker's index. A
    /// panic in the hook goes to the [`panic_handler`](Self::panic_handler).
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_exit = Some(Arc::new(hook));
        self
    }

    /// Sets a handler for panics that no code waits for: those of detached closures
    /// ([`Pool::spawn`]), of [tasks](crate::task) whose handle was dropped, and of hooks.
    ///
    /// The handler gets the payload. It runs on the worker that ran the task, or on the thread that
    /// drops the handle later. If the handler panics, the process aborts. Default: the payload is
    /// dropped, as that of a thread of std whose handle was dropped. In either case the panic hook
    /// of std has printed the message before.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// let handler = move |payload| sender.send(payload).unwrap();
    /// let pool = locksley::Pool::builder().workers(1).panic_handler(handler).build()?;
    /// drop(pool.spawn_future(async { panic!("nothing waits for this task") }));
    /// let payload = receiver.recv()?;
    /// assert_eq!(*payload.downcast::<&str>().unwrap(), "nothing waits for this task");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.config.panic_handler = Some(Arc::new(handler));
        self
    }

    /// Sets how each worker makes data of its own, which its tasks get by
    /// [`Worker::data`](crate::Worker::data).
    ///
    /// The data is made on the worker's thread before its first task and dropped there after the
    /// last. It needs to be neither `Send` nor `Sync`.
    pub fn worker_data<T: 'static>(
        mut self,
        make: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Self {
        self.config.worker_data = Some(Arc::new(move |index| Box::new(make(index))));
        self
    }

    /// Makes each worker take its own tasks oldest first, as thieves do, instead of newest first.
    ///
    /// A join still runs its own second task first. The order holds for each worker only: stolen
    /// tasks run when they are stolen.
    pub fn oldest_first(mut self) -> Self {
        self.config.oldest_first = true;
        self
    }

    /// Sets where a [task](crate::task) goes when it becomes ready again after a wait. Default:
    /// [`Placement::Last`].
    pub fn placement(mut self, placement: Placement) -> Self {
        self.config.placement = placement;
        self
    }

    /// Makes [`build`](Self::build) return at once, while the workers start.
    ///
    /// The workers then call the hooks as code of the pool, which may use the pool. A panic in a
    /// hook goes to the [`panic_handler`](Self::panic_handler), and its worker goes on.
    pub fn start_in_background(mut self) -> Self {
        self.config.in_background = true;
        self
    }

    /// Makes the thread that builds the pool its worker 0, for as long as the thread lives.
    ///
    /// This borrowed thread runs tasks only while it waits in the pool ([`join`](crate::join),
    /// [`scope`](crate::scope), [`Pool::install`]) and in
    /// [`Worker::run_one`](crate::Worker::run_one). It does not call start and exit hooks. The
    /// memory of its worker is never freed. If the thread drops the pool, it first runs the tasks
    /// that it finds.
    ///
    /// A wait of this thread runs any ready task on top of its frame, its own next one first, as in
    /// rayon: no other thread gets its index. So a lock that is held across the wait must not be
    /// one that other tasks want. In [`blocking`](crate::blocking()) and
    /// [`block_on`](crate::block_on), a replacement works under its index, as for all workers.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).with_current_thread().build()?;
    /// assert_eq!(pool.install(|worker| worker.index()), 0);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn with_current_thread(mut self) -> Self {
        self.config.with_current_thread = true;
        self
    }

    /// Has all tasks run on threads of the pool.
    ///
    /// By default [`Pool::install`] may run its task on the calling thread, as a guest. A pool has
    /// no guests either if its builder set a start hook, worker data, a stack size, an affinity, an
    /// observer or a borrowed thread, or used [`build_with`](Self::build_with).
    ///
    /// # Examples
    /// ```
    /// use std::thread::current;
    ///
    /// let pool = locksley::Pool::builder().workers(2).own_threads_only().build()?;
    /// assert_ne!(pool.install(|_| current().id()), current().id());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn own_threads_only(mut self) -> Self {
        self.config.own_threads_only = true;
        self
    }

    /// Sets the largest number of replacements: threads that run tasks under the index of a worker
    /// which waits or is in a [blocking call](crate::blocking()).
    ///
    /// Default: 256, or the number of workers if that is larger. A replacement's thread starts at
    /// its first use and lives as long as the pool.
    ///
    /// At the limit, a worker that waits runs any ready task on top of the frame that waits, unless
    /// that frame is in [`block_on`](crate::block_on).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).replacements(0).build()?;
    /// assert_eq!(pool.install(|_| locksley::blocking(|| "not replaced")), "not replaced");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn replacements(mut self, most: usize) -> Self {
        self.config.replacements = Some(most);
        self
    }

    /// Sets an observer of scheduling events: see [`extend`](crate::extend).
    ///
    /// An observed pool calls it for each task; a fork costs some tens of nanoseconds more.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.config.observer = Some(Arc::new(observer));
        self
    }

    /// Sets a tracer, which records steals, searches, parks and wake-ups: see
    /// [`extend`](crate::extend). A fork costs what it costs without one.
    pub fn tracer(mut self, tracer: impl Tracer) -> Self {
        self.config.tracer = Some(Arc::new(tracer));
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// Every [`BuildError`] except [`BuildError::GlobalPoolExists`].
    pub fn build(mut self) -> Result<Pool, BuildError> {
        let needed = self.set_numbers()?;
        self.config.names = Some(self.names()?);
        self.config.can_rebuild = true;
        self.start(needed, &mut spawn_worker)
    }

    /// Starts the workers on threads of the program.
    ///
    /// `spawn` is called for each worker, and again for the first ones if the pool is [started
    /// again](Self::workers) with fewer. It has another thread call [`WorkerThread::run`],
    /// and returns without waiting for that call, unless the workers [start in the
    /// background](Self::start_in_background).
    ///
    /// The program chooses names, stack sizes and affinity, and joins the threads: dropping the
    /// pool does not wait for them. Such a pool has no replacement workers unless
    /// [`replacements`](Self::replacements) was called.
    ///
    /// # Errors
    /// Every [`BuildError`] except [`BuildError::GlobalPoolExists`]. [`BuildError::Thread`]
    /// contains the error of `spawn`, or reports that a worker was dropped.
    ///
    /// # Examples
    /// ```
    /// use std::thread;
    ///
    /// let total = thread::scope(|scope| {
    ///     let pool = locksley::Pool::builder().workers(2).build_with(|worker| {
    ///         thread::Builder::new().spawn_scoped(scope, || worker.run())?;
    ///         Ok(())
    ///     })?;
    ///     Ok::<_, locksley::BuildError>(pool.install(|w| w.join(|_| 1, |_| 2)))
    /// })?;
    /// assert_eq!(total, (1, 2));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn build_with(
        self,
        mut spawn: impl FnMut(WorkerThread) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        self.build_on(&mut |worker| spawn(worker).map(|()| None))
    }

    fn build_on(mut self, spawn: &mut Spawn<'_>) -> Result<Pool, BuildError> {
        let needed = self.set_numbers()?;
        self.config.affinity = Affinity::Builder;
        // Only on request: the program may rely on properties of its own threads.
        let wants_threads = self.config.replacements.is_some();
        self.config.names = wants_threads.then(|| self.names()).transpose()?;
        self.start(needed, spawn)
    }

    /// Builds the pool that [`Pool::global`] returns, and that [`join`](crate::join),
    /// [`scope`](crate::scope) and [`spawn`](crate::spawn) use outside of any pool.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), and [`BuildError::GlobalPoolExists`] if the global pool was
    /// built or used before.
    pub fn build_global(self) -> Result<(), BuildError> {
        global::set(|| self.build())
    }

    /// Builds the global pool on threads of the program: [`build_global`](Self::build_global) and
    /// [`build_with`](Self::build_with) in one.
    ///
    /// # Errors
    /// Those of both.
    pub fn build_global_with(
        self,
        spawn: impl FnMut(WorkerThread) -> io::Result<()>,
    ) -> Result<(), BuildError> {
        global::set(|| self.build_with(spawn))
    }
}

impl PoolBuilder {
    /// Sets the number of all workers, and the size if the program or the environment gives one.
    /// Returns the number of workers that the pool cannot do without.
    fn set_numbers(&mut self) -> Result<usize, BuildError> {
        let at_most = |size: usize| self.max_workers.map_or(size, |most| size.min(most));
        let size = match self.workers {
            None => default_workers()?.map(at_most),
            size => size,
        };
        let (workers, needed) = match self.max_workers.or(size) {
            Some(workers) => (workers, workers),
            None => default_numbers(),
        };
        BuildError::check_number(workers, MAX_WORKERS)?;
        BuildError::check_number(size.unwrap_or(workers), workers)?;
        (self.config.workers, self.config.size) = (workers, size);
        Ok(needed)
    }

    /// The names of the threads that the pool creates.
    fn names(&self) -> Result<Arc<[String]>, BuildError> {
        let name = |worker| {
            let name = match &self.thread_name {
                Some(name) => name(worker),
                None => format!("locksley-{worker}"),
            };
            if name.contains('\0') {
                return Err(BuildError::ThreadName { worker, name });
            }
            Ok(name)
        };
        (0..self.config.workers).map(name).collect()
    }

    fn start(mut self, needed: usize, spawn: &mut Spawn<'_>) -> Result<Pool, BuildError> {
        self.config.tracer = self.config.tracer.or_else(default_tracer);
        self.config.assists = self.assists.map_or_else(default_assists, Ok)?;
        let pool = match start::start(self.config.clone(), spawn) {
            // The pool can do without the threads of workers that only sleep at first.
            Err(BuildError::Thread { worker, .. }) if worker >= needed => {
                start::start(Configuration { workers: needed, ..self.config }, spawn)?
            }
            pool => pool?,
        };
        if let Some(tracer) = &pool.shared.sleep.tracer {
            tracer.attach(Arc::new(Arc::downgrade(&pool.shared)));
        }
        Ok(pool)
    }
}

/// All workers of a pool that follows the system, and how many of them are needed now.
fn default_numbers() -> (usize, usize) {
    let allowed = Processors::allowed().count();
    let online = os::online_processors().unwrap_or(allowed);
    let needed = allowed.min(MAX_WORKERS);
    let useful = allowed.saturating_mul(GROWTH).min(online).max(needed);
    (useful.min(MAX_WORKERS), needed)
}

/// The number of workers that `LOCKSLEY_WORKERS` sets, or `None` if it is not set.
fn default_workers() -> Result<Option<usize>, BuildError> {
    variable("LOCKSLEY_WORKERS").map(|value| parse(&value)).transpose()
}

/// The assists that `LOCKSLEY_ASSISTS` names, or `Assists::ALL` if it is not set.
fn default_assists() -> Result<Assists, BuildError> {
    match variable("LOCKSLEY_ASSISTS") {
        Some(value) => value.parse().map_err(BuildError::Assists),
        None => Ok(Assists::ALL),
    }
}

/// The value of an environment variable. An empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

fn parse(value: &str) -> Result<usize, BuildError> {
    let number = value.trim().parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| BuildError::Environment { value: value.to_owned() })
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder").field("workers", &self.workers).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Builds a pool on a system that grants three threads.
    fn build_on_three_threads(workers: usize, needed: usize) -> Result<Pool, BuildError> {
        let mut builder = Pool::builder();
        builder.config.workers = workers;
        builder.start(needed, &mut |worker| {
            if worker.index() >= 3 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            std::thread::Builder::new().spawn(|| worker.run()).map(Some)
        })
    }

    #[test]
    fn a_pool_starts_without_threads_that_are_not_needed() {
        let pool = build_on_three_threads(6, 2).unwrap();
        assert_eq!(pool.workers(), 2);
        assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
        assert_eq!(build_on_three_threads(3, 2).unwrap().workers(), 3);
        let error = build_on_three_threads(6, 4);
        assert!(matches!(error, Err(BuildError::Thread { worker: 3, .. })));
    }

    #[test]
    fn the_variable_must_be_a_number_of_workers() {
        assert_eq!(parse(" 12 ").unwrap(), 12);
        for wrong in ["", "0", "-1", "two", "1.5", "99999999999999999999999"] {
            let error = parse(wrong).unwrap_err();
            assert!(matches!(&error, BuildError::Environment { value } if value == wrong));
            assert!(error.to_string().contains("LOCKSLEY_WORKERS"), "{error}");
        }
    }
}
