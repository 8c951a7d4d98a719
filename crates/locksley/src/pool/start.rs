//! How the workers of a pool come to be.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use super::Pool;
use super::error::BuildError;
use super::global;
use super::rebuild::{Rebuild, Recipe};
use super::thread::{Starting, WorkerThread};
use crate::futures::OwnedTasks;
use crate::os;
use crate::primitive::{AtomicUsize, Ordering};
use crate::scheduler::Shared;
use crate::scheduler::config::{Affinity, Configuration, Hooks, Threads};
use crate::scheduler::replacement::Replacements;
use crate::scheduler::worker::{OwnEnds, Worker};
use crate::sleep::MAX_WORKERS;
use crate::unwind::{self, Payload};

/// How many replacement workers there may be at the least, if nothing else was asked for.
const REPLACEMENTS: usize = 256;

/// How the workers begin.
#[derive(Clone, Copy, Default)]
pub(super) struct Begin {
    pub(super) affinity: Affinity,
    /// Whether the pool is returned before they are ready.
    pub(super) in_background: bool,
    /// Whether the calling thread is one of them.
    pub(super) with_current_thread: bool,
    /// How many replacement workers there may be; if not set, [`REPLACEMENTS`], or as many as workers.
    pub(super) replacements: Option<usize>,
    /// Whether the pool is built again in a forked child.
    pub(super) rebuilds: bool,
}

/// Has `spawn` give a thread to each of `workers` workers, and returns when each of them is ready, or all have ended again;
/// or at once, if they begin in the background. What `spawn` returns is joined when the pool is dropped. `threads` are how
/// replacements get theirs, if at all.
pub(super) fn start(
    workers: usize,
    begin: Begin,
    hooks: Arc<Hooks>,
    configuration: Configuration,
    threads: Option<Threads>,
    mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<Pool, BuildError> {
    if begin.with_current_thread {
        must_be_no_worker()?;
    }
    os::watch_for_forks(Worker::forget_current);
    let mut recipe = threads.clone().filter(|_| begin.rebuilds).map(|threads| Recipe {
        workers,
        begin: Begin { with_current_thread: false, ..begin },
        hooks: Arc::clone(&hooks),
        configuration: configuration.clone(),
        threads,
    });
    let replacements = match threads {
        Some(_) => {
            begin.replacements.unwrap_or(workers.max(REPLACEMENTS)).min(MAX_WORKERS - workers)
        }
        None => 0,
    };
    let (mut ends, slots): (Vec<_>, Vec<_>) =
        (0..workers + replacements).map(|_| configuration.slot()).unzip();
    let ends_of_replacements = ends.drain(workers..);
    let borrowed_threads = usize::from(begin.with_current_thread);
    let replacements = Replacements::new(
        ends_of_replacements,
        threads,
        Arc::clone(&hooks),
        begin.affinity,
        workers - borrowed_threads,
    );
    let tasks = Box::new(OwnedTasks::new(slots.len()));
    let shared = Shared::new(slots, workers, borrowed_threads, replacements, tasks, configuration);
    if let Some(recipe) = &mut recipe {
        // Not those that a child finds, which may be allowed other processors.
        recipe.configuration.places = Some(shared.places_to_keep());
    }
    // From here on an early return closes the pool: its handle is dropped, and with it the workers end.
    let mut pool = Pool {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(workers),
        is_detached: false,
        rebuild: Rebuild::by(recipe),
    };
    let mut ends = ends.into_iter().enumerate();
    let borrowed_thread = if begin.with_current_thread { ends.next() } else { None };
    let muster = (!begin.in_background).then(|| Arc::new(Muster::of(ends.len())));
    for (index, ends) in ends {
        let worker = WorkerThread::new(Starting {
            index,
            ends,
            shared: Arc::clone(&shared),
            hooks: Arc::clone(&hooks),
            affinity: begin.affinity,
            muster: muster.clone(),
        });
        let thread = global::in_a_hook(|| spawn(worker));
        pool.threads.extend(thread.map_err(|source| BuildError::Thread { worker: index, source })?);
    }
    if let Some(muster) = muster {
        muster.wait()?;
    }
    // Last, so that nothing can fail after the thread has become a worker.
    if let Some((index, ends)) = borrowed_thread {
        settle(index, ends, &shared, &hooks)?;
    }
    Ok(pool)
}

fn must_be_no_worker() -> Result<(), BuildError> {
    Worker::with_current(|current| match current {
        Some(_) => Err(BuildError::AlreadyAWorker),
        None => Ok(()),
    })
}

/// Makes the calling thread a worker.
fn settle(
    index: usize,
    ends: OwnEnds,
    shared: &Arc<Shared>,
    hooks: &Hooks,
) -> Result<(), BuildError> {
    must_be_no_worker()?; // `spawn` has run here meanwhile
    let make = || Worker::new(index, ends, Arc::clone(shared), hooks.make_data(index));
    match unwind::halt(|| global::in_a_hook(make)) {
        Ok(worker) => {
            // It is not watched: its thread does not say when it ends.
            shared.slot(index).start_clock();
            shared.slot(index).spends_time_on(None);
            worker.settle();
            Ok(())
        }
        Err(payload) => Err(hook_error(index, payload)),
    }
}

/// Where the builder waits until all workers are ready or have failed.
pub(super) struct Muster {
    missing: AtomicUsize,
    failure: Mutex<Option<BuildError>>,
    builder: Thread,
}

impl Muster {
    fn of(workers: usize) -> Self {
        let builder = thread::current();
        Self { missing: AtomicUsize::new(workers), failure: Mutex::new(None), builder }
    }

    pub(super) fn ready(&self) {
        // AcqRel: the builder sees what all workers did before.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.builder.unpark();
        }
    }

    pub(super) fn failed(&self, worker: usize, payload: Payload) {
        self.note(hook_error(worker, payload));
    }

    /// The worker was dropped instead of run.
    pub(super) fn dismissed(&self, worker: usize) {
        let source = io::Error::other("the worker was dropped before it had a thread");
        self.note(BuildError::Thread { worker, source });
    }

    fn note(&self, error: BuildError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.ready();
    }

    fn wait(&self) -> Result<(), BuildError> {
        while self.missing.load(Ordering::Acquire) > 0 {
            thread::park();
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }
}

fn hook_error(worker: usize, payload: Payload) -> BuildError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = text.unwrap_or("(not a text)").to_owned();
    unwind::discard(payload);
    BuildError::Hook { worker, message }
}

/// Gives a worker a thread of its own.
pub(super) fn spawn_worker(threads: &Threads, worker: WorkerThread) -> io::Result<JoinHandle<()>> {
    let name = threads.names[worker.index()].clone();
    threads.spawn_as(name, || {
        worker.ask_for_turns();
        worker.run();
    })
}
