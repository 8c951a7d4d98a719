//! A worker's thread, from beginning to end.

use std::fmt;
use std::sync::Arc;

use super::global;
use super::start::StartBarrier;
use crate::os;
use crate::scheduler::Shared;
use crate::scheduler::config::{Affinity, Hooks};
use crate::scheduler::worker::{OwnEnds, Worker};
use crate::unwind;

/// A worker that has no thread yet: [`run`](Self::run) makes the calling thread its own. See
/// [`PoolBuilder::build_with`](crate::PoolBuilder::build_with).
///
/// If it is dropped without having run, a `build_with` that waits for its workers fails. A pool
/// that starts in the background keeps the worker's index, and tasks that are sent to that worker
/// never run.
#[must_use = "without a thread the worker does not work"]
pub struct WorkerThread(Option<Starting>);

/// What a worker needs to start.
pub(super) struct Starting {
    pub(super) index: usize,
    pub(super) ends: OwnEnds,
    pub(super) shared: Arc<Shared>,
    pub(super) hooks: Arc<Hooks>,
    pub(super) affinity: Affinity,
    /// Where the builder waits, unless the pool starts in the background.
    pub(super) barrier: Option<Arc<StartBarrier>>,
}

impl WorkerThread {
    pub(super) fn new(starting: Starting) -> Self {
        Self(Some(starting))
    }

    /// The worker's number in its pool, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.starting().index
    }

    /// Works for the pool, on the calling thread, until the pool is closed.
    ///
    /// A pool is closed when it has been dropped, all detached closures have ended, and all futures
    /// that were still [tasks](crate::task) have been cancelled and dropped. Afterwards the thread
    /// is no worker any more.
    pub fn run(mut self) {
        if let Some(starting) = self.0.take() {
            starting.run();
        }
    }

    /// Requests the time slice that the idle policy wants, on a thread that the pool has created.
    pub(super) fn set_time_slice(&self) {
        self.starting().shared.set_time_slice();
    }

    fn starting(&self) -> &Starting {
        self.0.as_ref().expect("only `run` takes it, and `run` takes `self`")
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        if let Some(Starting { index, barrier: Some(barrier), .. }) = &self.0 {
            barrier.fail_dropped(*index);
        }
    }
}

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread").field("index", &self.index()).finish_non_exhaustive()
    }
}

impl Starting {
    fn run(mut self) {
        match self.affinity {
            Affinity::Process => os::move_to_process_affinity(),
            Affinity::Place => self.shared.bind(self.index),
            Affinity::Builder => false,
        };
        let (shared, index) = (Arc::clone(&self.shared), self.index);
        shared.sleep().settle_wake_affinity(index);
        match self.barrier.take() {
            Some(barrier) => self.run_awaited(barrier),
            None => self.run_in_background(),
        }
        shared.sleep().settle_wake_affinity(index);
    }

    /// The builder waits until the worker is ready, and reports a panic of a start hook.
    fn run_awaited(self, barrier: Arc<StartBarrier>) {
        let Self { index, ends, shared, hooks, .. } = self;
        let start = || {
            let data = hooks.make_data(index);
            let worker = Worker::new(index, ends, Arc::clone(&shared), data);
            if let Some(on_start) = &hooks.on_start {
                on_start(index);
            }
            worker
        };
        let worker = match unwind::halt(|| global::run_hook(start)) {
            Ok(worker) => worker,
            Err(payload) => return barrier.fail(index, payload),
        };
        shared.slot(index).attach_thread(shared.assists());
        barrier.arrive();
        drop(barrier);
        worker.serve();
        shared.slot(index).detach_thread();
        let end = unwind::halt(|| {
            drop(worker);
            if let Some(on_exit) = &hooks.on_exit {
                on_exit(index);
            }
        });
        if let Err(payload) = end {
            shared.report_panic(payload);
        }
    }

    /// No thread waits for the worker: its hooks run as code of the pool, and it works even if they
    /// panic.
    fn run_in_background(self) {
        let Self { index, ends, shared, hooks, .. } = self;
        let make = |data| Worker::new(index, ends, Arc::clone(&shared), data);
        shared.run_worker(&hooks, (index, index), make, Worker::work_until_closed);
    }
}
