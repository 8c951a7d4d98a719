//! The start of a pool's workers.

use std::io;
use std::sync::{Arc, OnceLock};

use super::Pool;
use super::error::BuildError;
use super::global;
use super::thread::{Starting, WorkerThread};
use crate::deque::OwnDeque;
use crate::futures::OwnedTasks;
use crate::header::Job;
use crate::numbers::{Index, Slot};
use crate::os;
use crate::primitive::mpsc::channel;
use crate::primitive::thread::JoinHandle;
use crate::shared::Shared;
use crate::shared::config::Configuration;
use crate::shared::guests::Guests;
use crate::sleep::MAX_WORKERS;
use crate::tuning::{GUESTS, REPLACEMENTS};
use crate::unwind::{self, Payload};
use crate::worker::{Role, Worker};

/// Starts a pool. `spawn` gives each worker a thread. The handle that it returns is joined when the
/// pool is dropped.
///
/// If the workers start in the background, returns at once. Otherwise returns when all workers are
/// ready, or, after an error, when all have ended again.
pub(super) fn start(
    config: Configuration,
    spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<Pool, BuildError> {
    if config.with_current_thread {
        ensure_not_on_worker()?;
    }
    // In a forked child, a thread that was a worker is none any more.
    os::watch_for_forks(Worker::forget_current);
    let (deques, shared) = new_shared(config);
    // From here on an early return drops the pool, which ends the workers that have started.
    let mut pool = Pool {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(shared.workers),
        is_detached: false,
        rebuilt: OnceLock::new(),
    };
    let mut deques = deques.into_iter().enumerate();
    let borrowed = if shared.config.with_current_thread { deques.next() } else { None };
    start_threads(&mut pool, deques, spawn)?;
    // The last step, so that nothing can fail after the thread has become a worker.
    if let Some((index, deque)) = borrowed {
        adopt_current_thread(index, deque, &shared)?;
    }
    Ok(pool)
}

/// Makes what the workers share. Also returns the owner's handle of each worker's deque.
fn new_shared(config: Configuration) -> (Vec<OwnDeque<Job>>, Arc<Shared>) {
    let workers = config.workers;
    let guests = if config.allows_guests() { GUESTS.min(MAX_WORKERS - workers) } else { 0 };
    let rest = MAX_WORKERS - workers - guests;
    let replacements = match config.names {
        Some(_) => config.replacements.unwrap_or(workers.max(REPLACEMENTS)).min(rest),
        None => 0,
    };
    let (mut deques, slots): (Vec<_>, Vec<_>) =
        (0..workers + guests).map(|_| config.new_slot()).unzip();
    let tasks = Box::new(OwnedTasks::new(slots.len() + replacements));
    let guests = Guests::new(deques.drain(workers..));
    let shared = Shared::new(slots.into_iter(), guests, replacements, tasks, config);
    (deques, Arc::new(shared))
}

/// Gives each worker a thread. Unless they start in the background, waits until they are ready.
fn start_threads(
    pool: &mut Pool,
    deques: impl Iterator<Item = (usize, OwnDeque<Job>)>,
    mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<(), BuildError> {
    let (ready, results) = channel();
    for (index, deque) in deques {
        let ready = (!pool.shared.config.in_background).then(|| ready.clone());
        let (shared, is_for_global) = (Arc::clone(&pool.shared), global::is_in_build());
        let starting = Starting { index, deque, shared, ready, is_for_global };
        let thread = spawn(WorkerThread(Some(starting)));
        pool.threads.extend(thread.map_err(|source| BuildError::Thread { worker: index, source })?);
    }
    drop(ready);
    // The results end when no worker has a sender any more: all are ready or have failed. The first
    // error counts, but `collect` would not wait for the results behind it.
    results.into_iter().fold(Ok(()), Result::and)
}

fn ensure_not_on_worker() -> Result<(), BuildError> {
    Worker::with_current(|current| match current {
        Some(_) => Err(BuildError::AlreadyAWorker),
        None => Ok(()),
    })
}

/// Makes the calling thread a worker.
fn adopt_current_thread(
    index: usize,
    deque: OwnDeque<Job>,
    shared: &Arc<Shared>,
) -> Result<(), BuildError> {
    ensure_not_on_worker()?; // again: `spawn` has run on this thread since the first check
    let data = || shared.config.make_data(index);
    let slot = Slot::new(index);
    let numbers = (Index::new(index), slot);
    let make = || Worker::new(Role::Borrowed, numbers, deque, Arc::clone(shared), data());
    match unwind::catch(make) {
        Ok(worker) => {
            // Not `attach_thread`: other workers would watch the thread, and it may end without
            // `detach_thread`.
            shared.slot(slot).start_clock();
            shared.slot(slot).charge_elsewhere();
            worker.set_current_forever();
            Ok(())
        }
        Err(payload) => Err(hook_error(index, payload)),
    }
}

/// The error for a panic of a hook.
pub(super) fn hook_error(worker: usize, payload: Payload) -> BuildError {
    let message = unwind::message(&payload).unwrap_or("(the panic has no message)").to_owned();
    unwind::discard(payload);
    BuildError::Hook { worker, message }
}

/// Gives a worker a thread of the pool.
pub(super) fn spawn_worker(worker: WorkerThread) -> io::Result<Option<JoinHandle<()>>> {
    let shared = Arc::clone(&worker.starting().shared);
    let names = shared.config.names.as_ref().expect("the pool creates its threads");
    let spawned = shared.config.spawn(names[worker.index()].clone(), move || {
        // Before the hooks, so that a hook can set another time slice.
        worker.starting().shared.set_time_slice();
        worker.run();
    });
    spawned.map(Some)
}
