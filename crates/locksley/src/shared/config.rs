//! What a pool is built with.

use std::any::Any;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use super::placement::Placement;
use super::slot::SlotState;
use crate::deque::chase_lev;
use crate::idle::{Balanced, IdlePolicy};
use crate::observe::Observer;
use crate::os::{self, Assists};
use crate::places::Places;
use crate::primitive::thread::{self, JoinHandle};
use crate::trace::Tracer;
use crate::tuning::BARRIER_COST_OF_WORKER;
use crate::unwind::Payload;

/// Called with the payload of a detached task that panicked.
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// What a thread runs. Boxed, so that the start of a thread is compiled once.
pub(crate) type ThreadBody = Box<dyn FnOnce() + Send>;

pub(crate) type Hook = Arc<dyn Fn(usize) + Send + Sync>;
type MakeData = Arc<dyn Fn(usize) -> Box<dyn Any> + Send + Sync>;

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

/// The idle policy of a pool.
#[derive(Clone)]
pub(crate) struct PolicyOfPool(pub(crate) Arc<dyn IdlePolicy>);

impl Default for PolicyOfPool {
    fn default() -> Self {
        Self(Arc::new(Balanced::default()))
    }
}

impl Deref for PolicyOfPool {
    type Target = dyn IdlePolicy;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// What a pool is built from, and, in a forked child, built from again.
#[derive(Clone, Default)]
pub(crate) struct Configuration {
    pub(crate) workers: usize,
    pub(crate) idle_policy: PolicyOfPool,
    pub(crate) assists: Assists,
    pub(crate) affinity: Affinity,
    /// The name of each worker's thread. `None` if the program creates the threads of the workers,
    /// and there are no replacements.
    pub(crate) names: Option<Arc<[String]>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_exit: Option<Hook>,
    pub(crate) worker_data: Option<MakeData>,
    /// True if workers take their own tasks oldest first.
    pub(crate) oldest_first: bool,
    /// Which worker a task goes to when it has waited and becomes ready.
    pub(crate) placement: Placement,
    pub(crate) panic_handler: Option<Arc<PanicHandler>>,
    /// `None` for the places of the machine.
    pub(crate) places: Option<Arc<Places>>,
    /// How many workers may be active, if the program or the environment sets a number.
    pub(crate) size: Option<usize>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    /// True if the pool is returned before its workers are ready.
    pub(crate) in_background: bool,
    /// True if the calling thread becomes a worker.
    pub(crate) with_current_thread: bool,
    /// The limit of replacement workers, if the program sets one.
    pub(crate) replacements: Option<usize>,
    /// True if the pool has no guests.
    pub(crate) own_threads_only: bool,
    /// Those of the thread that builds the pool. `None` before it does.
    pub(crate) builder_thread: Option<os::ThreadSettings>,
    /// True if a forked child that uses the pool may build it again.
    pub(crate) can_rebuild: bool,
}

impl Configuration {
    /// True if a call from outside may run on the calling thread. False if its task could notice
    /// that it is not on a worker's thread: by a start hook, data, a stack size, an affinity, or
    /// threads of the program. Also false with an observer.
    pub(crate) fn allows_guests(&self) -> bool {
        let has_hooks = self.on_start.is_some() || self.worker_data.is_some();
        let has_own_threads =
            self.own_threads_only || self.with_current_thread || self.affinity != Affinity::Process;
        let has_plain_threads = self.names.is_some() && self.stack_size.is_none();
        has_plain_threads && !has_hooks && !has_own_threads && self.observer.is_none()
    }

    /// The number of borrowed threads. They are the first workers.
    pub(crate) fn borrowed_threads(&self) -> usize {
        usize::from(self.with_current_thread)
    }

    pub(crate) fn new_slot(&self) -> Box<SlotState> {
        let heavy_barriers = self.assists.has(Assists::MEMBARRIER) && os::heavy_barrier_works();
        let close_after = if cfg!(any(loom, shuttle, test)) {
            2
        } else {
            BARRIER_COST_OF_WORKER.saturating_mul(self.workers as u32)
        };
        Box::new(SlotState::new(chase_lev(heavy_barriers.then_some(close_after))))
    }

    /// Spawns a thread for a worker.
    pub(crate) fn spawn(&self, name: String, serve: ThreadBody) -> io::Result<JoinHandle<()>> {
        let mut thread = thread::Builder::new().name(name);
        if let Some(bytes) = self.stack_size {
            thread = thread.stack_size(bytes);
        }
        thread.spawn(serve)
    }

    pub(crate) fn make_data(&self, index: usize) -> Option<Box<dyn Any>> {
        self.worker_data.as_ref().map(|make| make(index))
    }
}
