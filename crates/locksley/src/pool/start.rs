//! The start of a pool's workers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use super::Pool;
use super::error::BuildError;
use super::global;
use super::rebuild::Rebuild;
use super::thread::{Starting, WorkerThread};
use crate::futures::OwnedTasks;
use crate::os;
use crate::scheduler::Shared;
use crate::scheduler::config::{Affinity, Configuration, Hooks, Threads};
use crate::scheduler::replacement::Replacements;
use crate::scheduler::worker::{OwnEnds, Worker};
use crate::sleep::MAX_WORKERS;
use crate::unwind::{self, Payload};

/// The default limit of replacement workers, unless there are more workers.
const REPLACEMENTS: usize = 256;

/// What a pool is built from, and, in a forked child, built from again.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) workers: usize,
    pub(super) options: StartOptions,
    pub(super) hooks: Arc<Hooks>,
    pub(super) configuration: Configuration,
    /// How the pool creates threads; `None` if only the program does.
    pub(super) threads: Option<Threads>,
}

/// How the workers start.
#[derive(Clone, Copy, Default)]
pub(super) struct StartOptions {
    pub(super) affinity: Affinity,
    /// True if the pool is returned before its workers are ready.
    pub(super) in_background: bool,
    /// True if the calling thread becomes a worker.
    pub(super) with_current_thread: bool,
    /// The limit of replacement workers, if the program sets one.
    pub(super) replacements: Option<usize>,
    /// True if the pool is built again in a forked child.
    pub(super) can_rebuild: bool,
}

/// Starts a pool. `spawn` gives each worker a thread. The handle that it returns is joined when the
/// pool is dropped.
///
/// Returns when all workers are ready, or have ended again after an error; or at once, if they
/// start in the background.
pub(super) fn start(
    plan: Plan,
    mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<Pool, BuildError> {
    let mut rebuilt = (plan.options.can_rebuild).then(|| plan.clone());
    let Plan { workers, options, hooks, configuration, threads } = plan;
    if options.with_current_thread {
        ensure_no_worker()?;
    }
    os::watch_for_forks(Worker::forget_current);
    let replacements = match threads {
        Some(_) => {
            options.replacements.unwrap_or(workers.max(REPLACEMENTS)).min(MAX_WORKERS - workers)
        }
        None => 0,
    };
    let (mut ends, slots): (Vec<_>, Vec<_>) =
        (0..workers + replacements).map(|_| configuration.new_slot()).unzip();
    let borrowed_threads = usize::from(options.with_current_thread);
    let replacements = Replacements::new(
        ends.drain(workers..),
        threads,
        hooks,
        options.affinity,
        workers - borrowed_threads,
    );
    let tasks = Box::new(OwnedTasks::new(slots.len()));
    let shared = Shared::new(slots, workers, borrowed_threads, replacements, tasks, configuration);
    if let Some(rebuilt) = &mut rebuilt {
        // The thread that uses the pool first in a child is not the one that built it here. The
        // child keeps these places, even if it may use other processors.
        rebuilt.options.with_current_thread = false;
        rebuilt.configuration.places = Some(Arc::clone(&shared.place_map.places));
    }
    // From here on an early return drops the pool, which ends the workers that have started.
    let mut pool = Pool {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(workers),
        is_detached: false,
        rebuild: Rebuild::new(rebuilt),
    };
    let mut ends = ends.into_iter().enumerate();
    let borrowed_thread = if options.with_current_thread { ends.next() } else { None };
    let (ready, all_ready) = channel();
    for (index, ends) in ends {
        let ready = (!options.in_background).then(|| ready.clone());
        let worker = Starting { index, ends, shared: Arc::clone(&shared), ready };
        let worker = WorkerThread(Some(worker));
        let thread = global::run_hook(|| spawn(worker));
        pool.threads.extend(thread.map_err(|source| BuildError::Thread { worker: index, source })?);
    }
    drop(ready);
    // Ends when all workers are ready or have failed. The first error counts.
    all_ready.into_iter().fold(Ok(()), Result::and)?;
    // The last step, so that nothing can fail after the thread has become a worker.
    if let Some((index, ends)) = borrowed_thread {
        adopt_current_thread(index, ends, &shared)?;
    }
    Ok(pool)
}

fn ensure_no_worker() -> Result<(), BuildError> {
    Worker::with_current(|current| match current {
        Some(_) => Err(BuildError::AlreadyAWorker),
        None => Ok(()),
    })
}

/// Makes the calling thread a worker.
fn adopt_current_thread(
    index: usize,
    ends: OwnEnds,
    shared: &Arc<Shared>,
) -> Result<(), BuildError> {
    ensure_no_worker()?; // `spawn` has run here since the first check
    let data = || shared.replacements.hooks.make_data(index);
    let make = || Worker::new(index, index, ends, Arc::clone(shared), data());
    match unwind::halt(|| global::run_hook(make)) {
        Ok(worker) => {
            // Other workers do not watch this thread: it does not say when it ends.
            shared.slot(index).start_clock();
            shared.slot(index).charge_time_to(None);
            worker.set_current_forever();
            Ok(())
        }
        Err(payload) => Err(hook_error(index, payload)),
    }
}

/// The error for a panic of a hook.
pub(super) fn hook_error(worker: usize, payload: Payload) -> BuildError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = text.unwrap_or("(not a text)").to_owned();
    unwind::discard(payload);
    BuildError::Hook { worker, message }
}

/// Gives a worker a thread of the pool.
pub(super) fn spawn_worker(worker: WorkerThread) -> io::Result<Option<JoinHandle<()>>> {
    let threads = &worker.starting().shared.replacements.threads;
    let threads = threads.clone().expect("the pool creates its threads");
    let spawned = threads.spawn(threads.names[worker.index()].clone(), move || {
        // Before the hooks, which may choose another one.
        worker.starting().shared.set_time_slice();
        worker.run();
    });
    spawned.map(Some)
}
