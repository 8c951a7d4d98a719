//! What a pool is built with.

use std::any::Any;
use std::io;
use std::sync::Arc;

use super::allowance::OpenSource;
use super::placement::Placement;
use super::slot::Slot;
use crate::deque::{DequeChoice, OwnDeque};
use crate::idle::IdlePolicy;
use crate::observe::Observer;
use crate::os::{self, Assists};
use crate::places::Places;
use crate::primitive::thread::{self, JoinHandle};
use crate::scheduler::job::Job;
use crate::trace::Tracer;
use crate::unwind::Payload;

/// Called with the payload of a detached task that panicked.
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

pub(crate) type Hook = Box<dyn Fn(usize) + Send + Sync>;
type MakeData = Box<dyn Fn(usize) -> Box<dyn Any> + Send + Sync>;

/// Which processors the workers of a pool may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Affinity {
    /// Those of the process, that is, of its main thread, even if the thread that builds the pool
    /// is pinned.
    #[default]
    Process,
    /// Those of the thread that builds the pool.
    Builder,
    /// Those of the worker's place ([`PoolBuilder::places`](crate::PoolBuilder::places)), as far as
    /// the process may run there. If it may not, and for
    /// [replacements](crate::PoolBuilder::replacements), those of the process. A borrowed thread
    /// keeps its affinity.
    ///
    /// This keeps cached data near. But if other programs use all processors of a place, its
    /// workers wait there for their turns, and do not move to another place.
    ///
    /// A thread or a process that a task starts is bound as the worker is. The child of a task that
    /// forks is not. [`PoolStats`](crate::stats::PoolStats) tells how many workers the system
    /// has bound.
    Place,
}

/// The functions of the program that are called on each worker's thread.
#[derive(Default)]
pub(crate) struct ThreadHooks {
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_exit: Option<Hook>,
    pub(crate) worker_data: Option<MakeData>,
}

impl ThreadHooks {
    pub(crate) fn make_data(&self, index: usize) -> Box<dyn Any> {
        self.worker_data.as_ref().map_or_else(|| Box::new(()) as Box<dyn Any>, |make| make(index))
    }
}

/// Calls a hook, if it is set.
pub(crate) fn call_hook(hook: Option<&Hook>, index: usize) {
    if let Some(hook) = hook {
        hook(index);
    }
}

/// How to spawn threads for workers.
#[derive(Clone)]
pub(crate) struct Threads {
    /// The name of each worker's thread.
    pub(crate) names: Arc<[String]>,
    pub(crate) stack_size: Option<usize>,
}

impl Threads {
    pub(crate) fn spawn(
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

/// What a pool consists of, apart from its threads.
#[derive(Clone)]
pub(crate) struct Configuration {
    pub(crate) idle_policy: Arc<dyn IdlePolicy>,
    pub(crate) assists: Assists,
    /// True if workers take their own tasks oldest first.
    pub(crate) oldest_first: bool,
    /// Which worker a task goes to when it has waited and becomes ready.
    pub(crate) placement: Placement,
    pub(crate) panic_handler: Option<Arc<PanicHandler>>,
    /// `None` for the places of the machine.
    pub(crate) places: Option<Arc<Places>>,
    /// How to learn the number of workers that may be awake, if the number of workers was not
    /// chosen.
    pub(crate) allowance: Option<OpenSource>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    pub(crate) deque: DequeChoice,
}

impl Configuration {
    /// Makes a slot, and the owner's handle of its deque.
    pub(crate) fn new_slot(&self) -> (OwnDeque<Job>, Box<Slot>) {
        let heavy_barriers = self.assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
        let (deque, shared) = self.deque.deque(heavy_barriers);
        (deque, Box::new(Slot::new(shared)))
    }
}
