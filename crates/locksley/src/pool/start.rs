//! How the workers of a pool come to be.

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use super::Pool;
use super::builder::Affinity;
use super::error::BuildError;
use super::global;
use super::metered::Metering;
use super::revival::{Recipe, Revival};
use super::seat::Seat;
use super::shared::{PanicHandler, Rules, Shared};
use super::stand_ins::StandIns;
use super::thread::{Starting, WorkerThread};
use crate::allowance::Asked;
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::{DequeKind, any};
use crate::deque::{chase_lev, mailbox};
#[cfg(feature = "held-locks")]
use crate::held;
use crate::hunt::Governor;
use crate::os::{self, Assists};
use crate::places::Places;
use crate::primitive::{AtomicUsize, Ordering};
use crate::sleep::MAX_WORKERS;
use crate::unwind::{self, Payload};
use crate::worker::{OwnEnds, Worker};

pub(super) type Hook = Box<dyn Fn(usize) + Send + Sync>;
type MakeData = Box<dyn Fn(usize) -> Box<dyn Any> + Send + Sync>;

/// What is called on each worker's thread.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) on_start: Option<Hook>,
    pub(super) on_exit: Option<Hook>,
    pub(super) worker_data: Option<MakeData>,
}

impl Hooks {
    pub(super) fn make_data(&self, index: usize) -> Box<dyn Any> {
        self.worker_data.as_ref().map_or_else(|| Box::new(()) as Box<dyn Any>, |make| make(index))
    }
}

/// How the threads are to be that the standard library makes.
#[derive(Clone)]
pub(super) struct Threads {
    /// By worker.
    pub(super) names: Arc<[String]>,
    pub(super) stack_size: Option<usize>,
}

impl Threads {
    /// Gives a worker a thread.
    pub(super) fn spawn(&self, worker: WorkerThread) -> io::Result<JoinHandle<()>> {
        let name = self.names[worker.index()].clone();
        self.spawn_as(name, || {
            worker.ask_for_turns();
            worker.run();
        })
    }

    /// Gives a thread to who stands in for the worker with that number.
    pub(super) fn spawn_stand_in(
        &self,
        worker: usize,
        serve: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        self.spawn_as(format!("{}'", self.names[worker]), serve)
    }

    fn spawn_as(
        &self,
        name: String,
        serve: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let mut thread = thread::Builder::new().name(name);
        if let Some(bytes) = self.stack_size {
            thread = thread.stack_size(bytes);
        }
        thread.spawn(serve)
    }
}

/// How the workers begin.
#[derive(Clone, Copy, Default)]
pub(super) struct Begin {
    pub(super) affinity: Affinity,
    /// Whether the pool is returned before they are ready.
    pub(super) in_background: bool,
    /// Whether the calling thread is one of them.
    pub(super) with_current_thread: bool,
    /// How many stand-ins there may be; if not set, as many as workers.
    pub(super) stand_ins: Option<usize>,
}

/// What the pool is made of, apart from its threads.
#[derive(Clone)]
pub(super) struct Makeup {
    pub(super) governor: Arc<dyn Governor>,
    pub(super) assists: Assists,
    pub(super) rules: Rules,
    pub(super) panic_handler: Option<Arc<PanicHandler>>,
    /// Whether all that it does is metered.
    pub(super) meter: Metering,
    /// If not set: as the machine has them.
    pub(super) places: Option<Arc<Places>>,
    /// Who says how many workers may be awake, if nobody has chosen how many there are.
    pub(super) allowance: Option<Asked>,
    #[cfg(feature = "held-locks")]
    pub(super) held_lock_handler: Option<Arc<held::Handler>>,
    #[cfg(feature = "alternatives")]
    pub(super) deque: Option<DequeKind>,
}

impl Makeup {
    /// A deque and a mailbox as their worker and as everybody else has them.
    fn seat(&self) -> (OwnEnds, Seat) {
        let (mailbox, mail) = mailbox();
        let heavy_barriers = self.assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
        // A deque that has another in its place stays empty and open.
        #[cfg(feature = "alternatives")]
        if let Some(kind) = self.deque {
            let (owner, thief) = chase_lev(false);
            let (instead, thief_instead) = any(kind, heavy_barriers);
            return (
                OwnEnds { owner, mail, instead: Some(instead) },
                Seat::new(thief, mailbox).with_instead(thief_instead),
            );
        }
        let (owner, thief) = chase_lev(heavy_barriers);
        let ends = OwnEnds {
            owner,
            mail,
            #[cfg(feature = "alternatives")]
            instead: None,
        };
        (ends, Seat::new(thief, mailbox))
    }
}

/// Has `spawn` give a thread to each of `workers` workers, and returns when each of them is ready, or all have ended again;
/// or at once, if they begin in the background. What `spawn` returns is joined when the pool is dropped. `threads` are how
/// stand-ins get theirs, if at all.
pub(super) fn start(
    workers: usize,
    begin: Begin,
    hooks: Arc<Hooks>,
    makeup: Makeup,
    threads: Option<Threads>,
    mut spawn: impl FnMut(WorkerThread) -> io::Result<Option<JoinHandle<()>>>,
) -> Result<Pool, BuildError> {
    if begin.with_current_thread {
        must_be_no_worker()?;
    }
    os::watch_for_forks(Worker::forget_current);
    let mut recipe = threads.clone().map(|threads| Recipe {
        workers,
        begin: Begin { with_current_thread: false, ..begin },
        hooks: Arc::clone(&hooks),
        makeup: makeup.clone(),
        threads,
    });
    let stand_ins = match threads {
        Some(_) => begin.stand_ins.unwrap_or(workers).min(MAX_WORKERS - workers),
        None => 0,
    };
    let (mut ends, seats): (Vec<_>, Vec<_>) =
        (0..workers + stand_ins).map(|_| makeup.seat()).unzip();
    let ends_of_stand_ins = ends.drain(workers..);
    let stand_ins = StandIns::new(ends_of_stand_ins, threads, Arc::clone(&hooks), begin.affinity);
    let guests = usize::from(begin.with_current_thread);
    let shared = Shared::new(seats, workers, guests, stand_ins, makeup);
    if let Some(recipe) = &mut recipe {
        // Not those that a child finds, which may be allowed other processors.
        recipe.makeup.places = Some(shared.places_to_keep());
    }
    // From here on an early return closes the pool: its handle is dropped, and with it the workers end.
    let mut pool = Pool {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(workers),
        is_detached: false,
        revival: Revival::by(recipe),
    };
    let mut ends = ends.into_iter().enumerate();
    let guest = if begin.with_current_thread { ends.next() } else { None };
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
    if let Some((index, ends)) = guest {
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
            shared.seat(index).start_clock();
            shared.seat(index).spends_time_on(None);
            shared.has_guest();
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
