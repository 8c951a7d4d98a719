//! How the threads of a pool come and go.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use super::builder::Affinity;
use super::error::BuildError;
use super::shared::{PanicHandler, Seat, Shared};
use super::{Pool, global};
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::{DequeKind, any};
use crate::deque::chase_lev;
use crate::hunt::Governor;
use crate::os::{self, Assists};
use crate::primitive::{AtomicUsize, Ordering};
use crate::unwind::{self, Payload};
use crate::worker::{OwnDeque, Worker};

type Hook = Box<dyn Fn(usize) + Send + Sync>;
type MakeData = Box<dyn Fn(usize) -> Box<dyn Any> + Send + Sync>;

/// What is called on each worker's thread.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) on_start: Option<Hook>,
    pub(super) on_exit: Option<Hook>,
    pub(super) worker_data: Option<MakeData>,
}

/// How the threads are to be.
pub(super) struct Threads {
    pub(super) name: Box<dyn Fn(usize) -> String>,
    pub(super) stack_size: Option<usize>,
    pub(super) affinity: Affinity,
}

/// What the pool is made of, apart from its threads.
pub(super) struct Makeup {
    pub(super) governor: Box<dyn Governor>,
    pub(super) assists: Assists,
    pub(super) panic_handler: Option<Box<PanicHandler>>,
    #[cfg(feature = "alternatives")]
    pub(super) deque: Option<DequeKind>,
}

impl Makeup {
    /// A deque as its worker and as everybody else has it.
    fn deque(&self) -> (OwnDeque, Seat) {
        // A deque that has another in its place stays empty and open.
        #[cfg(feature = "alternatives")]
        if let Some(kind) = self.deque {
            let ((owner, thief), (instead, thief_instead)) = (chase_lev(false), any(kind));
            return (
                OwnDeque { owner, instead: Some(instead) },
                Seat::with_instead(thief, thief_instead),
            );
        }
        let may_close = self.assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
        let (owner, thief) = chase_lev(may_close);
        let owner = OwnDeque {
            owner,
            #[cfg(feature = "alternatives")]
            instead: None,
        };
        (owner, Seat::new(thief))
    }
}

/// Starts `workers` threads and returns when each of them is ready, or all have ended again.
pub(super) fn start(
    workers: usize,
    threads: Threads,
    hooks: Hooks,
    makeup: Makeup,
) -> Result<Pool, BuildError> {
    let (owners, seats): (Vec<_>, Vec<_>) = (0..workers).map(|_| makeup.deque()).unzip();
    let shared =
        Shared::new(seats.into_iter(), makeup.governor, makeup.assists, makeup.panic_handler);
    // From here on an early return closes the pool: its handle is dropped, and with it the workers end.
    let mut pool = Pool { shared: Arc::clone(&shared), threads: Vec::with_capacity(workers) };
    let hooks = Arc::new(hooks);
    let muster = Arc::new(Muster::of(workers));
    for (index, owner) in owners.into_iter().enumerate() {
        let starting = Starting {
            index,
            owner,
            shared: Arc::clone(&shared),
            hooks: Arc::clone(&hooks),
            affinity: threads.affinity,
            muster: Arc::clone(&muster),
        };
        pool.threads.push(starting.spawn(&threads)?);
    }
    muster.wait()?;
    Ok(pool)
}

/// Where the builder waits until all workers are ready or have failed.
struct Muster {
    missing: AtomicUsize,
    failure: Mutex<Option<BuildError>>,
    builder: Thread,
}

impl Muster {
    fn of(workers: usize) -> Self {
        let builder = thread::current();
        Self { missing: AtomicUsize::new(workers), failure: Mutex::new(None), builder }
    }

    fn ready(&self) {
        // AcqRel: the builder sees what all workers did before.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.builder.unpark();
        }
    }

    fn failed(&self, worker: usize, payload: Payload) {
        let error = BuildError::Hook { worker, message: text_of(&payload) };
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        unwind::discard(payload);
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

struct Starting {
    index: usize,
    owner: OwnDeque,
    shared: Arc<Shared>,
    hooks: Arc<Hooks>,
    affinity: Affinity,
    muster: Arc<Muster>,
}

impl Starting {
    fn spawn(self, threads: &Threads) -> Result<JoinHandle<()>, BuildError> {
        let worker = self.index;
        let mut thread = thread::Builder::new().name(global::in_a_hook(|| (threads.name)(worker)));
        if let Some(bytes) = threads.stack_size {
            thread = thread.stack_size(bytes);
        }
        thread.spawn(|| self.run()).map_err(|source| BuildError::Thread { worker, source })
    }

    /// A worker's thread, from beginning to end.
    fn run(self) {
        let Self { index, owner, shared, hooks, affinity, muster } = self;
        if affinity == Affinity::Process {
            os::move_to_process_affinity();
        }
        // Before the hook, which may choose otherwise.
        if let Some(turn) = shared.governor().turn()
            && shared.assists().has(Assists::SHORT_TURNS)
        {
            os::shorten_turns(turn);
        }
        let hook = || {
            let data = hooks.worker_data.as_ref().map(|make| make(index));
            let worker =
                Worker::new(index, owner, Arc::clone(&shared), data.unwrap_or(Box::new(())));
            if let Some(on_start) = &hooks.on_start {
                on_start(index);
            }
            worker
        };
        let worker = match unwind::halt(|| global::in_a_hook(hook)) {
            Ok(worker) => worker,
            Err(payload) => return muster.failed(index, payload),
        };
        shared.seat(index).appear(shared.assists());
        muster.ready();
        drop(muster);
        worker.serve();
        shared.seat(index).disappear();
        let left = unwind::halt(|| {
            drop(worker);
            if let Some(on_exit) = &hooks.on_exit {
                on_exit(index);
            }
        });
        if let Err(payload) = left {
            shared.report_panic(payload);
        }
    }
}

fn text_of(payload: &Payload) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(not a text)").to_owned()
}
