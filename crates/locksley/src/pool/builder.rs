//! How a pool is to be.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::environment::{default_assists, default_workers};
use super::error::BuildError;
use super::start::{self, spawn_worker};
use super::thread::WorkerThread;
use super::{Pool, global};
use crate::deque::Choice;
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::DequeKind;
use crate::idle::{Balanced, IdlePolicy};
use crate::observe::Observer;
use crate::os::{self, Assists, Processors};
use crate::places::Places;
#[cfg(all(test, not(loom)))]
use crate::scheduler::allowance::Asked;
use crate::scheduler::allowance::{ROOM, SENTINELS};
use crate::scheduler::config::{Affinity, Configuration, Hooks, Rules, Threads};
use crate::scheduler::division::{Unplaced, is_divided};
use crate::scheduler::placement::Placement;
use crate::sleep::MAX_WORKERS;

/// How a pool is to be. Made by [`Pool::builder`].
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
#[must_use]
pub struct PoolBuilder {
    workers: Option<usize>,
    max_workers: Option<usize>,
    stack_size: Option<usize>,
    thread_name: Box<dyn Fn(usize) -> String>,
    begin: start::Begin,
    configuration: Configuration,
    assists: Option<Assists>,
    hooks: Hooks,
}

impl Default for PoolBuilder {
    fn default() -> Self {
        Self {
            workers: None,
            max_workers: None,
            stack_size: None,
            thread_name: Box::new(|index| format!("locksley-{index}")),
            begin: start::Begin::default(),
            configuration: Configuration {
                idle_policy: Arc::new(Balanced::default()),
                assists: Assists::ALL,
                rules: Rules::default(),
                panic_handler: None,
                places: None,
                allowance: None,
                observer: None,
                deque: Choice::default(),
            },
            assists: None,
            hooks: Hooks::default(),
        }
    }
}

impl PoolBuilder {
    /// How many workers, from 1 to [`Pool::MAX_WORKERS`]. If not set: the environment variable `LOCKSLEY_WORKERS`; or else nobody has
    /// chosen, and the pool follows what is allowed.
    ///
    /// It then begins with [`Processors::count_up`](crate::os::Processors::count_up) workers, and has more that sleep, in case more are allowed later: at
    /// most four times as many, and no more than the machine has processors; and, in a pool of one place without a borrowed thread, one beyond these, which looks after what those who are awake do not come to; or as many as [`max_workers`](Self::max_workers) says. While the
    /// pool works, workers that have nothing else to do look again, ten times a second: where its threads may run, and which quotas
    /// the process's control group has. As many workers as that allows may be awake ([`Pool::size`]); those beyond sleep, but for one that may do what is sent while workers wait for processors that other programs have, where two or more may be awake and no quota says how many. Where the quota is
    /// no whole number, one worker rests from time to time, between tasks, so that the quota lasts to the end of its period and the kernel need not keep all of
    /// them from running. A number that somebody chooses, here, by that variable or by [`Pool::resize`], is kept, whatever is
    /// allowed later; under the usual idle policy no more of them are awake at a time than were of use when the pool was built
    /// ([`Processors::count_up`](crate::os::Processors::count_up)), and none rests. Where threads for those that sleep cannot be had, the pool is started once more without them.
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

    /// How many workers there are, for [`Pool::resize`] to choose from: so many threads are started, and
    /// [`workers`](Self::workers) says how many of them may be at work in the beginning. If
    /// not set: as many as may be at work in the beginning, or, if that was not chosen, as many as it says there.
    ///
    /// # Examples
    /// See [`Pool::resize`].
    pub fn max_workers(self, most: usize) -> Self {
        Self { max_workers: Some(most), ..self }
    }

    /// The names of the threads, by [`Worker::index`](crate::Worker::index). If not set: `locksley-0` and so on.
    pub fn thread_name(self, name: impl Fn(usize) -> String + 'static) -> Self {
        Self { thread_name: Box::new(name), ..self }
    }

    /// The size of each worker's stack in bytes. If not set: what the standard library gives a thread.
    pub fn stack_size(self, bytes: usize) -> Self {
        Self { stack_size: Some(bytes), ..self }
    }

    /// Where the workers may run. If not set: [`Affinity::Process`].
    pub fn affinity(mut self, affinity: Affinity) -> Self {
        self.begin.affinity = affinity;
        self
    }

    /// How the workers are divided into places. If not set: as [`Places::found`] divides the processors that the process may use,
    /// by the outermost cache or memory level with parts of at least two, if each part gets two workers at least, or else there is one place; so on
    /// most machines there is one.
    ///
    /// Each place gets as many workers as its share of the processors, and neighbours by [index](crate::Worker::index) are in the
    /// same place; with fewer workers than places that are given, some places have none. A worker looks for work in its own place first,
    /// then in near places, then in far ones, and leaves what there is in another place to the workers there, as long as they may be expected
    /// to take it: for about a tenth of a millisecond, if it has nothing else to do; and not for ever, if it has. (As long as there is
    /// nobody who looks, because so many are awake as the idle policy's limit or the pool's size allows, it stays as long as what is pushed:
    /// see [`Limit`](crate::idle::Limit).) How many tasks are taken out of their places:
    /// [`WorkerStats::out_of_place`](crate::stats::WorkerStats::out_of_place). What goes to a place is said by [`Spawn::Near`](crate::Spawn::Near) and its kin, and
    /// by [`Par::by_place`](crate::loops::Par::by_place).
    ///
    /// Workers belong to a place, but may run anywhere, unless they are bound to its processors ([`Affinity::Place`]): by default a place is who
    /// works together, and near in the machine as far as the kernel keeps it so.
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
        self.configuration.places = Some(Arc::new(places));
        self
    }

    /// Where a task goes for which no place is named. If not set: [`Unplaced::Stays`].
    pub fn unplaced(mut self, unplaced: Unplaced) -> Self {
        self.configuration.rules.unplaced = unplaced;
        self
    }

    /// What workers without work do. If not set: [`Balanced`].
    pub fn idle_policy(mut self, idle_policy: impl IdlePolicy) -> Self {
        self.configuration.idle_policy = Arc::new(idle_policy);
        self
    }

    /// Which of the kernel's assists the pool makes use of, where they work. If not set: those that the environment variable
    /// `LOCKSLEY_ASSISTS` names, as [`Assists`] reads them, or else all.
    pub fn assists(mut self, assists: Assists) -> Self {
        self.assists = Some(assists);
        self
    }

    /// Called on each worker's thread before its first task, with the worker's index. Its panic is
    /// [`BuildError::Hook`].
    ///
    /// The thread that builds the pool waits for this hook, so the hook must not wait for that thread; nor can it use
    /// the global pool if that is the one being built (it panics).
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_start = Some(Box::new(hook));
        self
    }

    /// Called on each worker's thread after its last task, with the worker's index. Its panic goes to the
    /// [`panic_handler`](Self::panic_handler).
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_exit = Some(Box::new(hook));
        self
    }

    /// Called with the payload of a detached task ([`Pool::spawn`], or a [future](crate::task) whose handle was dropped) that
    /// panicked, on the worker that ran it, or by who drops the handle later.
    ///
    /// If not set, or if the handler panics too, the process ends, since nobody would learn of the loss otherwise.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.configuration.panic_handler = Some(Arc::new(handler));
        self
    }

    /// Data of your own for each worker, made on its thread before its first task and dropped there after its last:
    /// see [`Worker::data`](crate::Worker::data). It needs to be neither `Send` nor `Sync`.
    pub fn worker_data<T: 'static>(
        mut self,
        make: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Self {
        self.hooks.worker_data = Some(Box::new(move |index| Box::new(make(index))));
        self
    }

    /// Which deque each worker has instead of the built-in one. Sleep, wake-ups and all else stay as they are, so pushes make
    /// the fence of an open deque. [`DequeKind::AbpArray`] is bounded: where it is full, the worker runs the task at once.
    ///
    /// # Examples
    /// See [`DequeKind`].
    #[cfg(feature = "alternatives")]
    pub fn deque(mut self, kind: DequeKind) -> Self {
        self.configuration.deque.kind = Some(kind);
        self
    }

    /// Workers take their own tasks oldest first, as thieves do, instead of newest first. A join still runs its own second
    /// task first. What was stolen runs as ever, so the order holds for each worker only.
    pub fn oldest_first(mut self) -> Self {
        self.configuration.rules.oldest_first = true;
        self
    }

    /// Where a [task](crate::task) goes that waited and has become ready. If not set: [`Placement::Last`].
    pub fn placement(mut self, placement: Placement) -> Self {
        self.configuration.rules.placement = placement;
        self
    }

    /// [`build`](Self::build) returns at once, while the workers start.
    ///
    /// Then hooks are called by workers, who can use their own pool there; a hook that panics is reported to the
    /// [`panic_handler`](Self::panic_handler) like a detached task, and its worker goes on.
    pub fn start_in_background(mut self) -> Self {
        self.begin.in_background = true;
        self
    }

    /// The thread that builds the pool becomes its worker 0, for as long as it lives.
    ///
    /// It runs tasks while it waits in the pool (in [`join`](crate::join), [`scope`](crate::scope),
    /// [`Pool::install`]), and when it says so ([`Worker::run_one`](crate::Worker::run_one)), and not otherwise. Start and
    /// exit hooks are not called for it. What the worker needs is never freed, even when the pool is dropped; dropping the pool
    /// on this thread first runs the tasks that can be found.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).with_current_thread().build()?;
    /// assert_eq!(pool.install(|worker| worker.index()), 0);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn with_current_thread(mut self) -> Self {
        self.begin.with_current_thread = true;
        self
    }

    /// How many replacement workers there may be, for workers that wait or are in a
    /// [blocking call](crate::Worker::blocking). If not set: 32, or as many as workers if that is more.
    /// A thread is started when it is needed first, and kept until the pool is dropped.
    ///
    /// At the limit a worker that waits keeps its slot. If all threads of the pool wait, the last one
    /// runs any ready task on top of the frame that waits, unless that is in
    /// [`block_on`](crate::block_on).
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).replacements(0).build()?;
    /// assert_eq!(pool.install(|worker| worker.blocking(|| "not replaced")), "not replaced");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn replacements(mut self, most: usize) -> Self {
        self.begin.replacements = Some(most);
        self
    }

    /// The same, on a clock for tests.
    /// What is allowed is what somebody else says than the system, if nobody chooses a number.
    /// Has an observer learn what the workers do: see [`observe`](crate::extend).
    ///
    /// An observed pool pays for each task; a fork costs some tens of nanoseconds more.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.configuration.observer = Some(Arc::new(observer));
        self
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn allowed_by(mut self, source: Asked) -> Self {
        self.configuration.allowance = Some(source);
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// Each of [`BuildError`]'s kinds but the last.
    pub fn build(self) -> Result<Pool, BuildError> {
        let numbers = Numbers::of(self.workers, self.max_workers, || self.room())?;
        let names = (0..numbers.workers).map(self.thread_name).collect();
        let threads = Threads { names, stack_size: self.stack_size };
        let begin = start::Begin { rebuilds: true, ..self.begin };
        let rest = Rest { begin, hooks: self.hooks, configuration: self.configuration };
        let spawn = |worker| spawn_worker(&threads, worker).map(Some);
        rest.start(numbers, self.assists, Some(threads.clone()), spawn)
    }

    /// Starts the workers on threads of your own: `spawn` is called once for each, and sees to it that
    /// [`WorkerThread::run`] is called on another thread, without waiting for this call to return (unless they
    /// [start in the background](Self::start_in_background)).
    ///
    /// Names, stack sizes and affinity are then up to you, and so is waiting for the threads: dropping the pool does not.
    ///
    /// # Errors
    /// Each of [`BuildError`]'s kinds but the last; [`BuildError::Thread`] is what `spawn` returned, or says that it dropped
    /// the worker.
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
        let numbers = Numbers::of(self.workers, self.max_workers, || self.room())?;
        let begin = start::Begin { affinity: Affinity::Builder, ..self.begin };
        let rest = Rest { begin, hooks: self.hooks, configuration: self.configuration };
        // Only if asked for: the program may rely on what its own threads have.
        let threads = begin.replacements.map(|_| {
            let names = (0..numbers.workers).map(self.thread_name).collect();
            Threads { names, stack_size: self.stack_size }
        });
        rest.start(numbers, self.assists, threads, |worker| spawn(worker).map(|()| None))
    }

    /// Makes this the pool that [`Pool::global`] returns, and that [`join`](crate::join), [`scope`](crate::scope) and
    /// [`spawn`](crate::spawn) use outside of any pool.
    ///
    /// # Errors
    /// Those of [`build`](Self::build); and [`BuildError::GlobalPoolExists`] if it was built or used before.
    pub fn build_global(self) -> Result<(), BuildError> {
        global::set(|| self.build())
    }

    /// [`build_global`](Self::build_global) on threads of your own, as [`build_with`](Self::build_with) has them.
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
    /// How many workers there are where nobody has chosen: more than are allowed now, as far as the machine could ever give them processors, and a sentinel; and how
    /// many of these are needed.
    fn room(&self) -> (usize, usize) {
        let processors = Processors::allowed();
        let (allowed, online) = (processors.count_up(), os::online());
        let needed = allowed.min(MAX_WORKERS);
        let useful = allowed.saturating_mul(ROOM).min(online.unwrap_or(allowed)).max(needed);
        let with_sentinel = useful.saturating_add(SENTINELS).min(MAX_WORKERS);
        // In one of several places it would be over the limit: how many are awake is not counted for each. A borrowed thread is one more already, as often as it does nothing for the pool.
        let has_room = !self.begin.with_current_thread
            && !is_divided(self.configuration.places.as_deref(), with_sentinel, processors.ids());
        (if has_room { with_sentinel } else { useful.min(MAX_WORKERS) }, needed)
    }
}

/// A builder without its threads.
struct Rest {
    begin: start::Begin,
    hooks: Hooks,
    configuration: Configuration,
}

impl Rest {
    fn start(
        mut self,
        numbers: Numbers,
        assists: Option<Assists>,
        threads: Option<Threads>,
        mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
    ) -> Result<Pool, BuildError> {
        self.configuration.assists = assists.map_or_else(default_assists, Ok)?;
        let Numbers { workers, chosen, needed } = numbers;
        if chosen.is_none() {
            self.configuration.allowance.get_or_insert_default();
        }
        let hooks = Arc::new(self.hooks);
        let mut start = |workers, configuration, threads| {
            start::start(
                workers,
                self.begin,
                Arc::clone(&hooks),
                configuration,
                threads,
                &mut spawn,
            )
        };
        let pool = match start(workers, self.configuration.clone(), threads.clone()) {
            // Those that are not needed now cannot be had.
            Err(BuildError::Thread { worker, .. }) if worker >= needed => {
                start(needed, self.configuration, threads)?
            }
            pool => pool?,
        };
        if let Some(size) = chosen {
            pool.shared.resize(size);
        }
        Ok(pool)
    }
}

/// How many there are, and how many may be at work, if somebody has chosen that.
#[derive(Clone, Copy)]
struct Numbers {
    workers: usize,
    chosen: Option<usize>,
    /// Fewer would be too few.
    needed: usize,
}

impl Numbers {
    /// As asked for, and at the most; where neither is said, in that room.
    fn of(
        asked: Option<usize>,
        most: Option<usize>,
        room: impl FnOnce() -> (usize, usize),
    ) -> Result<Self, BuildError> {
        let or_fewer = |size: usize| most.map_or(size, |most| size.min(most));
        let chosen = match asked {
            None => default_workers()?.map(or_fewer),
            asked => asked,
        };
        let (workers, needed) = most.or(chosen).map_or_else(room, |workers| (workers, workers));
        match (workers, chosen) {
            (0, _) | (_, Some(0)) => Err(BuildError::NoWorkers),
            (asked @ MAX_WORKERS.., _) if asked > MAX_WORKERS => {
                Err(BuildError::TooManyWorkers { asked, most: MAX_WORKERS })
            }
            (most, Some(asked)) if asked > most => Err(BuildError::TooManyWorkers { asked, most }),
            (workers, chosen) => Ok(Self { workers, chosen, needed }),
        }
    }
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("workers", &self.workers)
            .field("max_workers", &self.max_workers)
            .field("stack_size", &self.stack_size)
            .field("affinity", &self.begin.affinity)
            .field("idle policy", &self.configuration.idle_policy)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// No more than three threads can be had.
    fn built(workers: usize, needed: usize) -> Result<Pool, BuildError> {
        let PoolBuilder { begin, hooks, configuration, .. } = Pool::builder();
        let rest = Rest { begin, hooks, configuration };
        rest.start(Numbers { workers, chosen: None, needed }, None, None, |worker| {
            if worker.index() >= 3 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            std::thread::Builder::new().spawn(|| worker.run()).map(Some)
        })
    }

    #[test]
    fn threads_that_are_not_needed_may_be_missing() {
        let pool = built(6, 2).unwrap();
        assert_eq!(pool.workers(), 2);
        assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
        assert_eq!(built(3, 2).unwrap().workers(), 3);
        assert!(matches!(built(6, 4), Err(BuildError::Thread { worker: 3, .. })));
    }
}
