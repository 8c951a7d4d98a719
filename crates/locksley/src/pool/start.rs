//! The start of a pool, and the threads of its workers, from beginning to end.

use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError};

use super::Pool;
use super::error::BuildError;
use super::global;
use crate::countdown::Countdown;
use crate::futures::OwnedTasks;
use crate::numbers::Index;
use crate::os;
use crate::primitive::Mutex;
use crate::primitive::plain::OnceLock;
use crate::primitive::thread::JoinHandle;
use crate::shared::Shared;
use crate::shared::config::{Affinity, Configuration};
use crate::sleep::{MAX_WORKERS, Parker};
use crate::tuning::{GUESTS, REPLACEMENTS};
use crate::unwind::{self, Payload};
use crate::worker::{Role, Worker};

/// Gives a worker a thread. The handle that it returns is joined when the pool is dropped.
pub(super) type Spawn<'s> = dyn FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>> + 's;

/// Starts a pool, whose workers get their threads from `spawn`.
///
/// If the workers start in the background, returns at once. Otherwise returns when all workers are
/// ready, or, after an error, when those that it can join have ended.
pub(super) fn start(config: Configuration, spawn: &mut Spawn<'_>) -> Result<Pool, BuildError> {
    if config.with_current_thread {
        ensure_not_on_worker()?;
    }
    // In a forked child, a thread that was a worker is none any more.
    os::watch_for_forks(Worker::forget_current);
    let shared = new_shared(config);
    // From here on an early return drops the pool, which ends the workers that have started.
    let mut pool = Pool {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(shared.workers),
        is_detached: false,
        rebuilt: OnceLock::new(),
    };
    start_threads(&mut pool, spawn)?;
    // The last step, so that nothing can fail after the thread has become a worker.
    if shared.config.with_current_thread {
        adopt_current_thread(Index::new(0), &shared)?;
    }
    Ok(pool)
}

/// Makes what the workers share.
fn new_shared(mut config: Configuration) -> Arc<Shared> {
    config.builder_thread = Some(os::ThreadSettings::of_this_thread());
    let workers = config.workers;
    let guests = if config.allows_guests() { GUESTS.min(MAX_WORKERS - workers) } else { 0 };
    let rest = MAX_WORKERS - workers - guests;
    let replacements = match config.names {
        Some(_) => config.replacements.unwrap_or(workers.max(REPLACEMENTS)).min(rest),
        None => 0,
    };
    let tasks = Box::new(OwnedTasks::new(workers + guests + replacements));
    Arc::new(Shared::new(guests, replacements, tasks, config))
}

/// Gives each worker a thread. Unless they start in the background, waits until they are ready.
fn start_threads(pool: &mut Pool, spawn: &mut Spawn<'_>) -> Result<(), BuildError> {
    let readiness = Arc::new(Readiness::new());
    let mut is_missing = vec![false; pool.shared.workers];
    let (first, is_awaited) =
        (pool.shared.config.borrowed_threads(), !pool.shared.config.in_background);
    for (index, is_missing) in is_missing.iter_mut().enumerate().skip(first) {
        *is_missing = is_awaited;
        let ready = is_awaited.then(|| Ready::of(&readiness));
        let (shared, is_for_global) = (Arc::clone(&pool.shared), global::is_in_build());
        let thread = spawn(WorkerThread { index, shared, ready, is_for_global });
        pool.threads.extend(thread.map_err(|source| BuildError::Thread { worker: index, source })?);
    }
    // The first error counts, but not before each worker is ready, has failed or was dropped.
    for result in readiness.wait() {
        is_missing[result?] = false;
    }
    is_missing.into_iter().position(|it| it).map_or(Ok(()), |worker| {
        let source = io::Error::other("the worker was dropped before it had a thread");
        Err(BuildError::Thread { worker, source })
    })
}

fn ensure_not_on_worker() -> Result<(), BuildError> {
    let is_worker = Worker::with_current(|current| current.is_some());
    if is_worker { Err(BuildError::AlreadyAWorker) } else { Ok(()) }
}

/// Makes the calling thread a worker.
fn adopt_current_thread(index: Index, shared: &Arc<Shared>) -> Result<(), BuildError> {
    ensure_not_on_worker()?; // again: `spawn` has run on this thread since the first check
    let data = || shared.config.make_data(index.get());
    let numbers = (index, index.slot());
    let worker = unwind::catch(|| Worker::new(Role::Borrowed, numbers, Arc::clone(shared), data()))
        .map_err(|payload| hook_error(index.get(), payload))?;
    let slot = shared.slot(index.slot());
    // No assists: others may not observe the thread, which may end without `detach_thread`.
    slot.attach_thread(None);
    slot.charge_elsewhere();
    worker.set_current_forever();
    Ok(())
}

/// The error for a panic of a hook.
fn hook_error(worker: usize, payload: Payload) -> BuildError {
    let message = unwind::message(&payload).unwrap_or("(the panic has no message)").to_owned();
    unwind::discard(payload);
    BuildError::Hook { worker, message }
}

/// Gives a worker a thread of the pool.
pub(super) fn spawn_worker(worker: WorkerThread) -> io::Result<Option<JoinHandle<()>>> {
    let shared = Arc::clone(&worker.shared);
    let names = shared.config.names.as_ref().expect("the pool creates its threads");
    let name = names[worker.index].clone();
    let serve = Box::new(move || {
        // Before the hooks, so that a hook can set another time slice.
        worker.shared.set_time_slice();
        worker.run();
    });
    shared.config.spawn(name, serve).map(Some)
}

/// A worker that has no thread yet: [`run`](Self::run) makes the calling thread its own. See
/// [`PoolBuilder::build_with`](crate::PoolBuilder::build_with).
///
/// If it is dropped without having run, a `build_with` that waits for its workers fails. A pool
/// that starts in the background keeps the worker's index, and tasks that are sent to that worker
/// never run.
#[must_use = "without a thread the worker does not work"]
pub struct WorkerThread {
    index: usize,
    shared: Arc<Shared>,
    /// Tells the builder that the worker is ready or has failed. `None` if the pool starts in the
    /// background.
    ready: Option<Ready>,
    /// True if the build of the global pool waits for this one.
    is_for_global: bool,
}

/// What the workers tell their builder. It blocks on a parker: std's channels would use the
/// [`park`](std::thread::park) of the program's thread.
struct Readiness {
    results: Mutex<Vec<Result<usize, BuildError>>>,
    /// The shares, and the builder until it waits.
    unfinished: Countdown,
    builder: Parker,
}

/// A worker's share in it, until it is dropped.
struct Ready(Arc<Readiness>);

impl Readiness {
    fn new() -> Self {
        let (results, builder) = (Mutex::default(), Parker::default());
        Self { results, unfinished: Countdown::new(1), builder }
    }

    /// Waits until no worker has a share. Returns the indices of those that are ready, and errors.
    fn wait(&self) -> Vec<Result<usize, BuildError>> {
        let _ = self.unfinished.end();
        let is_over = || self.unfinished.left() == 0;
        while !is_over() {
            self.builder.park(is_over, None);
        }
        std::mem::take(&mut *self.results.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ready {
    fn of(readiness: &Arc<Readiness>) -> Self {
        readiness.unfinished.begin();
        Self(Arc::clone(readiness))
    }

    fn tell(&self, result: Result<usize, BuildError>) {
        self.0.results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        if self.0.unfinished.end() {
            self.0.builder.unpark();
        }
    }
}

impl WorkerThread {
    /// The worker's number in its pool, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Works for the pool, on the calling thread, until the pool is closed.
    ///
    /// A pool is closed when it has been dropped, all detached closures have ended, and all futures
    /// that were still [tasks](crate::task) have been cancelled and dropped. Afterwards the thread
    /// is no worker any more.
    pub fn run(mut self) {
        match self.shared.config.affinity {
            Affinity::Process => os::move_to_process_affinity(),
            Affinity::Place => self.shared.bind(Index::new(self.index)),
            Affinity::Builder => false,
        };
        match self.ready.take() {
            Some(ready) => self.run_awaited(ready),
            // No thread waits for the worker: its hooks run as code of the pool, and it works even
            // if they panic.
            None => {
                let index = Index::new(self.index);
                let numbers = (index, index.slot());
                self.shared.run_worker(Role::Own, numbers, Worker::work_until_closed);
            }
        }
    }

    /// The builder waits until the worker is ready, and reports a panic of a start hook.
    fn run_awaited(self, ready: Ready) {
        let Self { index, shared, is_for_global, .. } = self;
        let (config, numbers) = (&shared.config, (Index::new(index), Index::new(index).slot()));
        let start = || {
            let data = config.make_data(index);
            let worker = Worker::new(Role::Own, numbers, Arc::clone(&shared), data);
            config.on_start.iter().for_each(|hook| hook(index));
            worker
        };
        let start = || if is_for_global { global::run_in_build(start) } else { start() };
        let worker = match unwind::catch(start) {
            Ok(worker) => worker,
            Err(payload) => {
                ready.tell(Err(hook_error(index, payload)));
                return;
            }
        };
        shared.slot(numbers.1).attach_thread(Some(config.assists));
        ready.tell(Ok(index));
        drop(ready);
        worker.as_current(|| worker.work_until_closed());
        shared.slot(numbers.1).detach_thread();
        let report = |payload| shared.report_panic(payload);
        let exit = || config.on_exit.iter().for_each(|hook| hook(index));
        unwind::catch(exit).unwrap_or_else(report);
        unwind::catch(|| drop(worker)).unwrap_or_else(report);
    }
}

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread").field("index", &self.index).finish_non_exhaustive()
    }
}
