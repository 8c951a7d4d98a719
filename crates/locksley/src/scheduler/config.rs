//! What a pool is told when it is built.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::allowance::Asked;
use super::division::Unplaced;
use super::placement::Placement;
use super::slot::Slot;
use super::worker::OwnEnds;
use crate::deque::{Choice, pinned_queue};
use crate::idle::IdlePolicy;
use crate::observe::Observer;
use crate::os::{self, Assists};
use crate::places::Places;
use crate::unwind::Payload;

/// Called with the payload of a detached task that panicked.
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

pub(crate) type Hook = Box<dyn Fn(usize) + Send + Sync>;
type MakeData = Box<dyn Fn(usize) -> Box<dyn Any> + Send + Sync>;

/// Which processors the workers of a pool may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Affinity {
    /// Those of the process, that is, of its main thread, even if the thread that builds the pool is pinned.
    #[default]
    Process,
    /// Those of the thread that builds the pool.
    Builder,
    /// Those of the worker's place ([`PoolBuilder::places`](crate::PoolBuilder::places)), as far as the process may run there; or else, and for
    /// [replacements](crate::PoolBuilder::replacements), those of the process. A thread that joins the pool stays where it is.
    ///
    /// What is in the caches stays near then. But where other programs have all processors of a place, its workers wait for
    /// their turns there, and do not go to another place.
    ///
    /// What a task starts on such a worker, a thread or a process, is bound as the worker is; but not the child if the task forks. Whether the system has
    /// done it is told by [`Pool::bound_workers`](crate::Pool::bound_workers).
    Place,
}

/// What is called on each worker's thread.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_exit: Option<Hook>,
    pub(crate) worker_data: Option<MakeData>,
}

impl Hooks {
    pub(crate) fn make_data(&self, index: usize) -> Box<dyn Any> {
        self.worker_data.as_ref().map_or_else(|| Box::new(()) as Box<dyn Any>, |make| make(index))
    }
}

/// How the threads are to be that the standard library makes.
#[derive(Clone)]
pub(crate) struct Threads {
    /// By worker.
    pub(crate) names: Arc<[String]>,
    pub(crate) stack_size: Option<usize>,
}

impl Threads {
    /// Gives a thread to who replaces the worker with that number.
    pub(crate) fn spawn_replacement(
        &self,
        worker: usize,
        serve: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        self.spawn_as(format!("{}'", self.names[worker]), serve)
    }

    pub(crate) fn spawn_as(
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

/// What the pool is made of, apart from its threads.
#[derive(Clone)]
pub(crate) struct Configuration {
    pub(crate) idle_policy: Arc<dyn IdlePolicy>,
    pub(crate) assists: Assists,
    pub(crate) rules: Rules,
    pub(crate) panic_handler: Option<Arc<PanicHandler>>,
    /// Whether all that it does is metered.
    /// If not set: as the machine has them.
    pub(crate) places: Option<Arc<Places>>,
    /// Who says how many workers may be awake, if nobody has chosen how many there are.
    pub(crate) allowance: Option<Asked>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) deque: Choice,
}

impl Configuration {
    /// A deque and a pinned queue as their worker and as everybody else has them.
    pub(crate) fn slot(&self) -> (OwnEnds, Slot) {
        let (pinned_queue, pinned_tasks) = pinned_queue();
        let heavy_barriers = self.assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
        let (deque, shared) = self.deque.deque(heavy_barriers);
        (OwnEnds { deque, pinned_tasks }, Slot::new(shared, pinned_queue))
    }
}

/// How workers go about their tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Whether they take their own oldest first.
    pub(crate) oldest_first: bool,
    /// Where one goes that has become ready.
    pub(crate) placement: Placement,
    /// Where a task goes for which no place is named.
    pub(crate) unplaced: Unplaced,
}
