//! How a pool is to be.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::division::{Unplaced, is_divided};
use super::environment::{default_assists, default_workers, is_metered_by_default};
use super::error::BuildError;
use super::metered::Metering;
use super::shared::Rules;
use super::start::{self, Hooks};
use super::thread::WorkerThread;
use super::{Pool, global};
#[cfg(all(test, not(loom)))]
use crate::allowance::Asked;
use crate::allowance::{LOOKOUTS, ROOM};
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::DequeKind;
use crate::fiber::StackOptions;
use crate::fork::Waiting;
use crate::held::HeldLock;
use crate::hunt::{Balanced, Governor};
use crate::os::{self, Assists, Processors};
use crate::places::Places;
use crate::sleep::MAX_WORKERS;
use crate::task::Placement;

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
    makeup: start::Makeup,
    assists: Option<Assists>,
    meter: Option<Metering>,
    hooks: Hooks,
}

/// Which processors the workers of a pool may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Affinity {
    /// Those of the process, that is, of its main thread, even if the thread that builds the pool is pinned.
    #[default]
    Process,
    /// Those of the thread that builds the pool.
    Builder,
    /// Those of the worker's place ([`PoolBuilder::places`]), as far as the process may run there; or else, and for
    /// [stand-ins](PoolBuilder::stand_ins), those of the process. A thread that joins the pool stays where it is.
    ///
    /// What is in the caches stays near then. But where other programs have all processors of a place, its workers wait for
    /// their turns there, and do not go to another place.
    ///
    /// What a task starts on such a worker, a thread or a process, is bound as the worker is; but not the child if the task forks. Whether the system has
    /// done it is told by [`Pool::bound_workers`](crate::Pool::bound_workers).
    Place,
}

impl Default for PoolBuilder {
    fn default() -> Self {
        Self {
            workers: None,
            max_workers: None,
            stack_size: None,
            thread_name: Box::new(|index| format!("locksley-{index}")),
            begin: start::Begin::default(),
            makeup: start::Makeup {
                governor: Arc::new(Balanced::default()),
                assists: Assists::ALL,
                rules: Rules::default(),
                panic_handler: None,
                meter: Metering::Off,
                places: None,
                allowance: None,
                #[cfg(feature = "held-locks")]
                held_lock_handler: None,
                #[cfg(feature = "alternatives")]
                deque: None,
            },
            assists: None,
            meter: None,
            hooks: Hooks::default(),
        }
    }
}

impl PoolBuilder {
    /// How many workers, from 1 to [`Pool::MAX_WORKERS`]. If not set: the environment variable `LOCKSLEY_WORKERS`; or else nobody has
    /// chosen, and the pool follows what is allowed.
    ///
    /// It then begins with [`Processors::count_up`](crate::os::Processors::count_up) workers, and has more that sleep, in case more are allowed later: at
    /// most four times as many, and no more than the machine has processors; and, in a pool of one place without a guest, one beyond these, which looks after what those who are awake do not come to; or as many as [`max_workers`](Self::max_workers) says. While the
    /// pool works, workers that have nothing else to do look again, ten times a second: where its threads may run, and which quotas
    /// the process's control group has. As many workers as that allows may be awake ([`Pool::size`]); those beyond sleep, but for one that may do what is sent while workers wait for processors that other programs have, where two or more may be awake and no quota says how many. Where the quota is
    /// no whole number, one worker rests from time to time, between tasks, so that the quota lasts to the end of its period and the kernel need not keep all of
    /// them from running. A number that somebody chooses, here, by that variable or by [`Pool::resize`], is kept, whatever is
    /// allowed later; under the usual governor no more of them are awake at a time than were of use when the pool was built
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

    /// How many stacks the pool may have beside those of its threads, for tasks to run on while others wait
    /// ([`block_on`](crate::block_on), and a join or scope whose tasks run elsewhere). If not set: 10 000.
    ///
    /// Without any, or when all are in use, or where the system has no memory for more, a worker that waits runs other tasks on
    /// top of the waiting one, which then goes on when these have ended. A waiting stack takes the memory that it has used, two
    /// pages at least.
    ///
    /// # Thread-locals
    /// All stacks of a worker see the thread-locals of its one thread. While a call waits, other tasks run on that thread, begin,
    /// wait in their turn, and go on in any order. So a value that is put into a thread-local for the time of a call and put back
    /// after it (as `scoped_tls` does, or a guard that restores what was there) must not be relied on across a wait: two such calls on
    /// stacks of one worker may end in the order in which they began, and then the second puts back what the first has taken
    /// away. If what is put there is a pointer into a frame, it dangles. Pass such values as arguments, or set them
    /// between two waits. With `waiting_stacks(0)` what begins during a wait ends before the wait does, as in rayon; so it is in
    /// the drop-in for rayon, and in the global pool of a program that has the feature `rayon-variables`.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).waiting_stacks(0).build()?;
    /// // The inner task runs on top of the one that waits for it.
    /// let answer = pool.run(|w| locksley::block_on(w.spawn_future(async { 42 })));
    /// assert_eq!(answer.unwrap(), 42);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn waiting_stacks(mut self, most: usize) -> Self {
        self.makeup.rules.stacks.most = most;
        self
    }

    /// The size of each of these stacks in bytes, to which a page is added that cannot be touched; from 4096 to a quarter of all
    /// addresses, else there is a [`BuildError::WaitingStackSize`]. If not set: 1984 KiB, about what the standard library gives a
    /// thread.
    ///
    /// Any task may come to run on one, so it should be as large as [`stack_size`](Self::stack_size). Memory is taken as it is
    /// used; where the system has no place for so large a one, there is none.
    ///
    /// # Examples
    /// ```
    /// use locksley::{BuildError, Pool};
    ///
    /// let pool = Pool::builder().workers(1).waiting_stack_size(64 << 10).build()?;
    /// assert_eq!(pool.run(|w| locksley::block_on(w.spawn_future(async { 42 }))).unwrap(), 42);
    ///
    /// let none = Pool::builder().waiting_stack_size(100).build();
    /// assert!(matches!(none, Err(BuildError::WaitingStackSize { asked: 100 })));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn waiting_stack_size(mut self, bytes: usize) -> Self {
        self.makeup.rules.stacks.bytes = bytes;
        self
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
    /// nobody who looks, because so many are awake as the governor's limit or the pool's size allows, it stays as long as what is pushed:
    /// see [`Limit`](crate::hunt::Limit).) How many tasks are taken out of their places:
    /// [`WorkerStats::out_of_place`](crate::meter::WorkerStats::out_of_place). What goes to a place is said by [`Pool::spawn_near`] and its kin, and
    /// by [`Worker::for_each_by_place`](crate::Worker::for_each_by_place).
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
        self.makeup.places = Some(Arc::new(places));
        self
    }

    /// Where a task goes for which no place is named. If not set: [`Unplaced::Stays`].
    pub fn unplaced(mut self, unplaced: Unplaced) -> Self {
        self.makeup.rules.unplaced = unplaced;
        self
    }

    /// What workers without work do. If not set: [`Balanced`].
    pub fn governor(mut self, governor: impl Governor) -> Self {
        self.makeup.governor = Arc::new(governor);
        self
    }

    /// Which of the kernel's assists the pool makes use of, where they work. If not set: those that the environment variable
    /// `LOCKSLEY_ASSISTS` names, as [`Assists`] reads them, or else all.
    pub fn assists(mut self, assists: Assists) -> Self {
        self.assists = Some(assists);
        self
    }

    /// What a worker runs while a join or scope waits for tasks that others run, where a call does not say otherwise. If not set:
    /// [`Waiting::Anything`].
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.makeup.rules.waiting = waiting;
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
        self.makeup.panic_handler = Some(Arc::new(handler));
        self
    }

    /// Called with each lock that a worker holds where it may have to wait, if this was built with the feature `held-locks`; else
    /// never: see [`held`](crate::held).
    ///
    /// If it panics, so does what would have waited, a join or scope after all its tasks have ended. If not set, what it would be called
    /// with is printed.
    ///
    /// # Examples
    /// In a test it may be an error:
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    ///
    /// use locksley::held::{self, Mark};
    ///
    /// let pool = locksley::Pool::builder()
    ///     .workers(2)
    ///     .held_lock_handler(|held| panic!("{held}"))
    ///     .build()?;
    /// let joined = catch_unwind(AssertUnwindSafe(|| {
    ///     pool.run(|worker| {
    ///         let _mark = Mark::new("printer");
    ///         worker.join(|_| 1, |_| 2)
    ///     })
    /// }));
    /// assert_eq!(joined.is_err(), held::WATCHED);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn held_lock_handler(self, handler: impl Fn(&HeldLock) + Send + Sync + 'static) -> Self {
        let makeup = self.makeup;
        #[cfg(feature = "held-locks")]
        let makeup = start::Makeup { held_lock_handler: Some(Arc::new(handler)), ..makeup };
        #[cfg(not(feature = "held-locks"))]
        drop(handler);
        Self { makeup, ..self }
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
        self.makeup.deque = Some(kind);
        // What is compared is all else as it was.
        self.makeup.rules.stacks.most = 0;
        self
    }

    /// Workers take their own tasks oldest first, as thieves do, instead of newest first. A join still runs its own second
    /// task first. What was stolen runs as ever, so the order holds for each worker only.
    pub fn oldest_first(mut self) -> Self {
        self.makeup.rules.oldest_first = true;
        self
    }

    /// Where a [task](crate::task) goes that waited and has become ready. If not set: [`Placement::Last`].
    pub fn placement(mut self, placement: Placement) -> Self {
        self.makeup.rules.placement = placement;
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
    /// [`Pool::run`]), and when it says so ([`Worker::run_one`](crate::Worker::run_one)), and not otherwise. Start and
    /// exit hooks are not called for it. What the worker needs is never freed, even when the pool is dropped; dropping the pool
    /// on this thread first runs the tasks that can be found.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(2).with_current_thread().build()?;
    /// assert_eq!(pool.run(|worker| worker.index()), 0);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn with_current_thread(mut self) -> Self {
        self.begin.with_current_thread = true;
        self
    }

    /// How many stand-ins there may be for workers that are in a [blocking call](crate::Worker::blocking). If not set: as many as
    /// workers. With 0 there are none. Their threads are started when they are needed first, and kept until the pool is dropped.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::builder().workers(1).stand_ins(0).build()?;
    /// assert_eq!(pool.run(|worker| worker.blocking(|| "and nobody stands in")), "and nobody stands in");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn stand_ins(mut self, most: usize) -> Self {
        self.begin.stand_ins = Some(most);
        self
    }

    /// Whether all that the pool does is metered: then [`Pool::report`] has its work and its critical path. If not set: if the
    /// environment variable `LOCKSLEY_METER` is `1`; and then the report is also printed to standard error when the pool has been dropped or
    /// [let go of](Pool::detach) and all that it has accepted has ended, or, where it is the global pool, when the process ends (on Linux).
    ///
    /// What comes from threads outside begins, for each of them, where the path ends that it has waited for in this pool. Of a thread that
    /// [is a worker](Self::with_current_thread) itself only what it runs by [`Pool::run`] is metered. What a strand of another metered pool calls for
    /// here is in that pool's report. See [`Pool::metered`] for the rest, and for what it costs.
    ///
    /// # Examples
    /// See [`Pool::report`].
    pub fn metered(mut self, is_metered: bool) -> Self {
        self.meter = Some(if is_metered { Metering::On } else { Metering::Off });
        self
    }

    /// The same, on a clock for tests.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn metered_virtually(mut self) -> Self {
        self.meter = Some(Metering::Virtual);
        self
    }

    /// What is allowed is what somebody else says than the system, if nobody chooses a number.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn allowed_by(mut self, source: Asked) -> Self {
        self.makeup.allowance = Some(source);
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// Each of [`BuildError`]'s kinds but the last.
    pub fn build(self) -> Result<Pool, BuildError> {
        let numbers = Numbers::of(self.workers, self.max_workers, || self.room())?;
        let names = (0..numbers.workers).map(self.thread_name).collect();
        let threads = start::Threads { names, stack_size: self.stack_size };
        let (begin, meter) = (self.begin, self.meter);
        let rest = Rest { begin, meter, hooks: self.hooks, makeup: self.makeup };
        let spawn = |worker| threads.spawn(worker).map(Some);
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
    ///     Ok::<_, locksley::BuildError>(pool.run(|w| w.join(|_| 1, |_| 2)))
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
        let meter = self.meter;
        let rest = Rest { begin, meter, hooks: self.hooks, makeup: self.makeup };
        rest.start(numbers, self.assists, None, |worker| spawn(worker).map(|()| None))
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
    /// How many workers there are where nobody has chosen: more than are allowed now, as far as the machine could ever give them processors, and a lookout; and how
    /// many of these are needed.
    fn room(&self) -> (usize, usize) {
        let processors = Processors::allowed();
        let (allowed, online) = (processors.count_up(), os::online());
        let needed = allowed.min(MAX_WORKERS);
        let useful = allowed.saturating_mul(ROOM).min(online.unwrap_or(allowed)).max(needed);
        let with_lookout = useful.saturating_add(LOOKOUTS).min(MAX_WORKERS);
        // In one of several places it would be one too many: how many are awake is not counted for each. A guest is one more already, as often as it does nothing for the pool.
        let has_room = !self.begin.with_current_thread
            && !is_divided(self.makeup.places.as_deref(), with_lookout, processors.ids());
        (if has_room { with_lookout } else { useful.min(MAX_WORKERS) }, needed)
    }
}

/// A builder without its threads.
struct Rest {
    begin: start::Begin,
    meter: Option<Metering>,
    hooks: Hooks,
    makeup: start::Makeup,
}

impl Rest {
    fn start(
        mut self,
        numbers: Numbers,
        assists: Option<Assists>,
        threads: Option<start::Threads>,
        mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
    ) -> Result<Pool, BuildError> {
        self.makeup.assists = assists.map_or_else(default_assists, Ok)?;
        self.makeup.meter = match self.meter {
            None if is_metered_by_default()? => Metering::Printed,
            asked => asked.unwrap_or(Metering::Off),
        };
        let asked = self.makeup.rules.stacks.bytes;
        if !StackOptions::SIZES.contains(&asked) {
            return Err(BuildError::WaitingStackSize { asked });
        }
        let Numbers { workers, chosen, needed } = numbers;
        if chosen.is_none() {
            self.makeup.allowance.get_or_insert_default();
        }
        let hooks = Arc::new(self.hooks);
        let mut start = |workers, makeup, threads| {
            start::start(workers, self.begin, Arc::clone(&hooks), makeup, threads, &mut spawn)
        };
        let pool = match start(workers, self.makeup.clone(), threads.clone()) {
            // Those that are not needed now cannot be had.
            Err(BuildError::Thread { worker, .. }) if worker >= needed => {
                start(needed, self.makeup, threads)?
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
            .field("governor", &self.makeup.governor)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// No more than three threads can be had.
    fn built(workers: usize, needed: usize) -> Result<Pool, BuildError> {
        let PoolBuilder { begin, hooks, makeup, .. } = Pool::builder();
        let rest = Rest { begin, meter: None, hooks, makeup };
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
        assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
        assert_eq!(built(3, 2).unwrap().workers(), 3);
        assert!(matches!(built(6, 4), Err(BuildError::Thread { worker: 3, .. })));
    }
}
