//! A worker's thread, from beginning to end.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::error::BuildError;
use super::global;
use super::start::hook_error;
use crate::deque::OwnDeque;
use crate::header::Job;
use crate::numbers::Index;
use crate::os;
use crate::primitive::mpsc::Sender;
use crate::shared::Shared;
use crate::shared::config::Affinity;
use crate::unwind;
use crate::worker::{Role, Worker};

/// A worker that has no thread yet: [`run`](Self::run) makes the calling thread its own. See
/// [`PoolBuilder::build_with`](crate::PoolBuilder::build_with).
///
/// If it is dropped without having run, a `build_with` that waits for its workers fails. A pool
/// that starts in the background keeps the worker's index, and tasks that are sent to that worker
/// never run.
#[must_use = "without a thread the worker does not work"]
pub struct WorkerThread(pub(super) Option<Starting>);

/// The builder waits until every worker has dropped its own.
type Ready = Sender<Result<(), BuildError>>;

/// What a worker needs to start.
pub(super) struct Starting {
    pub(super) index: usize,
    pub(super) deque: OwnDeque<Job>,
    pub(super) shared: Arc<Shared>,
    /// Tells the builder that the worker is ready or has failed. `None` if the pool starts in the
    /// background.
    pub(super) ready: Option<Ready>,
    /// True if the build of the global pool waits for this one.
    pub(super) is_for_global: bool,
}

impl WorkerThread {
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

    pub(super) fn starting(&self) -> &Starting {
        self.0.as_ref().expect("only `run` takes it, and `run` takes `self`")
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        if let Some(Starting { index, ready: Some(ready), .. }) = &self.0 {
            let source = io::Error::other("the worker was dropped before it had a thread");
            // This fails if the builder has met another error.
            let _ = ready.send(Err(BuildError::Thread { worker: *index, source }));
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
        match self.shared.config.affinity {
            Affinity::Process => os::move_to_process_affinity(),
            Affinity::Place => self.shared.bind(Index::new(self.index)),
            Affinity::Builder => false,
        };
        let (shared, index) = (Arc::clone(&self.shared), Index::new(self.index));
        match self.ready.take() {
            Some(ready) => self.run_awaited(ready),
            // No thread waits for the worker: its hooks run as code of the pool, and it works even
            // if they panic.
            None => {
                let numbers = (index, index.slot());
                shared.run_worker(Role::Own, numbers, self.deque, Worker::work_until_closed);
            }
        }
    }

    /// The builder waits until the worker is ready, and reports a panic of a start hook.
    fn run_awaited(self, ready: Ready) {
        let Self { index, deque, shared, is_for_global, .. } = self;
        let (config, numbers) = (&shared.config, (Index::new(index), Index::new(index).slot()));
        let start = || {
            let data = config.make_data(index);
            let worker = Worker::new(Role::Own, numbers, deque, Arc::clone(&shared), data);
            config.on_start.iter().for_each(|hook| hook(index));
            worker
        };
        let start = || if is_for_global { global::run_in_build(start) } else { start() };
        let worker = match unwind::catch(start) {
            Ok(worker) => worker,
            Err(payload) => {
                let _ = ready.send(Err(hook_error(index, payload)));
                return;
            }
        };
        shared.slot(numbers.1).attach_thread(config.assists);
        let _ = ready.send(Ok(()));
        drop(ready);
        worker.as_current(|| worker.work_until_closed());
        shared.slot(numbers.1).detach_thread();
        let report = |payload| shared.report_panic(payload);
        let exit = || config.on_exit.iter().for_each(|hook| hook(index));
        unwind::catch(exit).unwrap_or_else(report);
        unwind::catch(|| drop(worker)).unwrap_or_else(report);
    }
}
