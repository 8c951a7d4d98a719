//! The start of a pool's workers.

use std::io;
use std::sync::Arc;

use super::Pool;
use super::error::BuildError;
use super::global;
use super::rebuild::Rebuild;
use super::thread::{Starting, WorkerThread};
use crate::deque::OwnDeque;
use crate::futures::OwnedTasks;
use crate::os;
use crate::primitive::mpsc::channel;
use crate::primitive::thread::JoinHandle;
use crate::scheduler::Shared;
use crate::scheduler::config::{Affinity, Configuration, ThreadHooks, Threads};
use crate::scheduler::external::ExternalSlots;
use crate::scheduler::job::Job;
use crate::scheduler::replacement::Replacements;
use crate::scheduler::worker::Worker;
use crate::sleep::MAX_WORKERS;
use crate::unwind::{self, Payload};

/// The default limit of replacement workers. In a pool with more workers, their number.
const REPLACEMENTS: usize = 256;

/// The largest number of external threads that run tasks of a pool at the same time.
const EXTERNAL_THREADS: usize = 8;

/// What a pool is built from, and, in a forked child, built from again.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) workers: usize,
    pub(super) options: StartOptions,
    pub(super) hooks: Arc<ThreadHooks>,
    pub(super) configuration: Configuration,
    /// How the pool creates threads. `None` if the program creates those of the workers, and there
    /// are no replacements.
    pub(super) threads: Option<Threads>,
}

impl Plan {
    /// True if external threads may run tasks of the pool. False if tasks could notice that they
    /// are not on a worker's thread: by a start hook, data, a stack size, an affinity, or threads
    /// of the program. Also false with an observer.
    fn allows_external_threads(&self) -> bool {
        let Self { options, hooks, configuration, threads, .. } = self;
        let has_hooks = hooks.on_start.is_some() || hooks.worker_data.is_some();
        let has_own_threads = options.own_threads_only
            || options.with_current_thread
            || options.affinity != Affinity::Process;
        let has_plain_threads = threads.as_ref().is_some_and(|it| it.stack_size.is_none());
        has_plain_threads && !has_hooks && !has_own_threads && configuration.observer.is_none()
    }
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
    /// True if external threads run no tasks of the pool.
    pub(super) own_threads_only: bool,
    /// True if a forked child that uses the pool may build it again from its plan.
    pub(super) can_rebuild: bool,
}

/// Starts a pool. `spawn` gives each worker a thread. The handle that it returns is joined when the
/// pool is dropped.
///
/// If the workers start in the background, returns at once. Otherwise returns when all workers are
/// ready, or, after an error, when all have ended again.
pub(super) fn start(
    plan: Plan,
    spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<Pool, BuildError> {
    let (workers, options) = (plan.workers, plan.options);
    if options.with_current_thread {
        ensure_not_on_worker()?;
    }
    // In a forked child, a thread that was a worker is none any more.
    os::watch_for_forks(Worker::forget_current);
    let plan_for_child = options.can_rebuild.then(|| plan.clone());
    let (deques, shared) = new_shared(plan);
    // From here on an early return drops the pool, which ends the workers that have started.
    let mut pool = Pool {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(workers),
        is_detached: false,
        rebuild: Rebuild::new(plan_for_child.map(|mut plan| {
            // The thread that uses the pool first in a child is not the one that built it here.
            plan.options.with_current_thread = false;
            // The child keeps these places, even if it may use other processors.
            plan.configuration.places = Some(Arc::clone(&shared.place_map.places));
            plan
        })),
    };
    let mut deques = deques.into_iter().enumerate();
    let borrowed = if options.with_current_thread { deques.next() } else { None };
    start_threads(&mut pool, deques, options.in_background, spawn)?;
    // The last step, so that nothing can fail after the thread has become a worker.
    if let Some((index, deque)) = borrowed {
        adopt_current_thread(index, deque, &shared)?;
    }
    Ok(pool)
}

/// Makes what the workers share. Also returns the owner's handle of each worker's deque.
fn new_shared(plan: Plan) -> (Vec<OwnDeque<Job>>, Arc<Shared>) {
    let most_external = if plan.allows_external_threads() { EXTERNAL_THREADS } else { 0 };
    let Plan { workers, options, hooks, configuration, threads } = plan;
    let external = most_external.min(workers).min(MAX_WORKERS - workers);
    let rest = MAX_WORKERS - workers - external;
    let replacements = match threads {
        Some(_) => options.replacements.unwrap_or(workers.max(REPLACEMENTS)).min(rest),
        None => 0,
    };
    let (mut deques, slots): (Vec<_>, Vec<_>) =
        (0..workers + external).map(|_| configuration.new_slot()).unzip();
    let borrowed = usize::from(options.with_current_thread);
    let tasks = Box::new(OwnedTasks::new(slots.len() + replacements));
    let replacements =
        Replacements::new(replacements, threads, hooks, options.affinity, workers - borrowed);
    let external_slots = ExternalSlots::new(deques.drain(workers..));
    let slots = slots.into_iter();
    let shared =
        Shared::new(slots, workers, borrowed, external_slots, replacements, tasks, configuration);
    (deques, shared)
}

/// Gives each worker a thread. Unless they start in the background, waits until they are ready.
fn start_threads(
    pool: &mut Pool,
    deques: impl Iterator<Item = (usize, OwnDeque<Job>)>,
    in_background: bool,
    mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<(), BuildError> {
    let (ready, results) = channel();
    for (index, deque) in deques {
        let ready = (!in_background).then(|| ready.clone());
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
    let data = || shared.replacements.hooks.make_data(index);
    let make = || Worker::new(index, index, deque, Arc::clone(shared), data()).attached();
    match unwind::catch(make) {
        Ok(worker) => {
            // Not `attach_thread`: other workers would watch the thread, and it may end without
            // `detach_thread`.
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
    let message = unwind::message(&payload).unwrap_or("(the panic has no message)").to_owned();
    unwind::discard(payload);
    BuildError::Hook { worker, message }
}

/// Gives a worker a thread of the pool.
pub(super) fn spawn_worker(worker: WorkerThread) -> io::Result<Option<JoinHandle<()>>> {
    let threads = &worker.starting().shared.replacements.threads;
    let threads = threads.clone().expect("the pool creates its threads");
    let spawned = threads.spawn(threads.names[worker.index()].clone(), move || {
        // Before the hooks, so that a hook can set another time slice.
        worker.starting().shared.set_time_slice();
        worker.run();
    });
    spawned.map(Some)
}
