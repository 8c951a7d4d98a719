//! A worker's thread, from beginning to end.

use std::fmt;
use std::sync::Arc;

use super::global;
use super::start::Muster;
use crate::os::{self, Assists};
use crate::scheduler::Shared;
use crate::scheduler::config::{Affinity, Hook, Hooks};
use crate::scheduler::worker::{OwnEnds, Worker};
use crate::unwind::{self, AbortOnUnwind};

/// A worker that has no thread yet: [`run`](Self::run) makes the calling one its own. See
/// [`PoolBuilder::build_with`](crate::PoolBuilder::build_with).
///
/// Dropped without having run, it leaves the pool with a worker less than it counts: tasks that are sent to that worker are
/// never run. A `build_with` that waits for its workers then fails.
#[must_use = "without a thread the worker does not work"]
pub struct WorkerThread(Option<Starting>);

/// What a worker needs to start.
pub(super) struct Starting {
    pub(super) index: usize,
    pub(super) ends: OwnEnds,
    pub(super) shared: Arc<Shared>,
    pub(super) hooks: Arc<Hooks>,
    /// Whether the thread goes back to where the process may run.
    pub(super) affinity: Affinity,
    /// Where somebody waits for it to be ready, if anybody does.
    pub(super) muster: Option<Arc<Muster>>,
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

    /// Works for the pool, on the calling thread, until the pool is closed: dropped, all detached closures ended, and all futures
    /// that were still [tasks](crate::task) cancelled and dropped.
    ///
    /// Afterwards the thread is what it was before.
    pub fn run(mut self) {
        if let Some(starting) = self.0.take() {
            starting.run();
        }
    }

    /// On the thread that is the worker's own: has it take turns on the processor as the idle policy pending wake-ups. Before the hooks,
    /// which may choose otherwise.
    pub(super) fn ask_for_turns(&self) {
        let shared = &self.starting().shared;
        if let Some(turn) = shared.idle_policy().turn()
            && shared.assists().has(Assists::SHORT_TURNS)
        {
            os::shorten_turns(turn);
        }
    }

    fn starting(&self) -> &Starting {
        self.0.as_ref().expect("there until it is taken by `run`, which takes `self` too")
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        if let Some(Starting { index, muster: Some(muster), .. }) = &self.0 {
            muster.dismissed(*index);
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
        shared.sleep().thread_comes_or_goes(index);
        match self.muster.take() {
            Some(muster) => self.run_awaited(muster),
            None => self.run_at_once(),
        }
        shared.sleep().thread_comes_or_goes(index);
    }

    /// Somebody waits until it is ready, and learns if it cannot be.
    fn run_awaited(self, muster: Arc<Muster>) {
        let Self { index, ends, shared, hooks, .. } = self;
        let hook = || {
            let data = hooks.make_data(index);
            let worker = Worker::new(index, ends, Arc::clone(&shared), data);
            if let Some(on_start) = &hooks.on_start {
                on_start(index);
            }
            worker
        };
        let worker = match unwind::halt(|| global::in_a_hook(hook)) {
            Ok(worker) => worker,
            Err(payload) => return muster.failed(index, payload),
        };
        shared.slot(index).appear(shared.assists());
        muster.ready();
        drop(muster);
        worker.serve();
        shared.slot(index).disappear();
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

    /// Nobody waits: hooks run as the worker's own doing, and the worker works whatever they do.
    fn run_at_once(self) {
        let Self { index, ends, shared, hooks, .. } = self;
        let report = |payload| shared.report_panic(payload);
        let data = unwind::halt(|| hooks.make_data(index)).unwrap_or_else(|payload| {
            report(payload);
            Box::new(())
        });
        let abort = AbortOnUnwind("a idle policy panicked");
        let worker = Worker::new(index, ends, Arc::clone(&shared), data);
        abort.disarm();
        let call = |hook: &Option<Hook>| {
            let called = unwind::halt(|| hook.iter().for_each(|hook| hook(index)));
            called.unwrap_or_else(report);
        };
        worker.as_current(|| {
            call(&hooks.on_start);
            // After the hook, which may pin the thread: until then nobody moves it.
            shared.slot(index).appear(shared.assists());
            worker.work_until_closed();
            shared.slot(index).disappear();
            call(&hooks.on_exit);
        });
        unwind::halt(|| drop(worker)).unwrap_or_else(report);
    }
}
