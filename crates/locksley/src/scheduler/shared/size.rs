//! How many workers may be awake: by the idle policy, by what the process is allowed, and by the
//! size that the program has chosen.

use std::sync::Weak;

use super::Shared;
use crate::idle::{Activity, Limit, Peers};
use crate::os::{self, Assists, RunState, ThreadAffinity};
use crate::scheduler::allowance::{Allowance, PollPhase};
use crate::scheduler::config::Configuration;
use crate::trace::PoolHandle;

/// What policy and allowance permit: the policy's limit for so many processors, or `at_most` if
/// that is less, plus the borrowed threads. A borrowed thread counts as awake, though it mostly
/// runs code that is not the pool's.
pub(super) fn limit(config: &Configuration, processors: usize, at_most: usize) -> Limit {
    let limit = config.idle_policy.limit(processors);
    let awake = limit.awake.min(at_most).saturating_add(config.borrowed_threads());
    Limit { awake, ..limit }
}

impl Shared {
    /// The number of processors that the process may use: now, or, if the number of workers was
    /// chosen, when the pool was built.
    pub(crate) fn processors(&self) -> usize {
        self.allowance.as_ref().map_or_else(|| self.processors_at_build(), Allowance::awake_limit)
    }

    /// The number of processors that the process might use when the pool was built. A quota is
    /// rounded up: rounded down, a quota of one and a half processors would leave a third of it
    /// unused.
    pub(crate) fn processors_at_build(&self) -> usize {
        self.processors.count()
    }

    /// The affinity of each worker that has recorded it, without borrowed threads.
    pub(crate) fn affinities_of_workers(&self) -> impl Iterator<Item = &ThreadAffinity> {
        let workers = self.config.borrowed_threads()..self.workers;
        workers.filter_map(|worker| self.slot(worker).affinity.get())
    }

    /// Polls what the process is allowed and has used, if that is due. Returns true if it has.
    #[inline]
    pub(crate) fn poll_allowance(&self, phase: PollPhase) -> bool {
        self.allowance.as_ref().is_some_and(|it| it.poll(it.now(), self, phase))
    }

    /// The number of workers that are awake.
    pub(crate) fn awake(&self) -> usize {
        self.workers.saturating_sub(self.sleep.snapshot().asleep())
    }

    /// True if the pool follows the allowance, and the calling worker, which searches, is over the
    /// push limit and has no injected task for one more. False if the number of workers was chosen.
    pub(crate) fn is_over_allowance(&self) -> bool {
        self.has_automatic_size() && self.is_over_limit()
    }

    /// True if the number of workers was not chosen, and so follows the allowance.
    fn has_automatic_size(&self) -> bool {
        self.allowance.as_ref().is_some_and(|allowance| !allowance.is_stopped())
    }

    /// True if the injector holds a task for which one worker more than the push limit may be
    /// awake.
    fn has_task_for_one_more(&self) -> bool {
        let sleep = &self.sleep;
        sleep.is_one_more_allowed() && !self.injector.is_empty() && !sleep.is_over_send_limit()
    }

    /// The limit if so many workers are allowed, and their number was not chosen.
    pub(crate) fn allowed_limit(&self, workers: usize) -> Limit {
        limit(&self.config, workers, workers)
    }

    /// The limit by what the process was allowed when the pool was built.
    pub(crate) fn limit_at_build(&self) -> Limit {
        limit(&self.config, self.processors_at_build(), usize::MAX)
    }

    /// The number of workers, without borrowed threads, that may work now.
    pub(crate) fn size(&self) -> usize {
        let size = self.sleep.size();
        if self.has_automatic_size() { size.min(self.sleep.allowed()) } else { size }
    }

    /// Sets the size that the program has chosen.
    pub(crate) fn resize(&self, size: usize) {
        if let Some(allowance) = &self.allowance {
            allowance.stop(self);
        }
        self.sleep.resize(size);
    }

    /// The size that the program has chosen.
    pub(crate) fn chosen_size(&self) -> Option<usize> {
        (!self.has_automatic_size()).then(|| self.sleep.size())
    }
}

impl PoolHandle for Weak<Shared> {
    fn size(&self) -> Option<usize> {
        self.upgrade().map(|pool| pool.size())
    }

    fn resize(&self, size: usize) -> bool {
        let pool = self.upgrade().filter(|pool| (1..=pool.workers).contains(&size));
        pool.inspect(|pool| pool.resize(size)).is_some()
    }

    fn queued(&self) -> Vec<usize> {
        self.upgrade().map_or_else(Vec::new, |pool| pool.queued().collect())
    }
}

impl Peers for Shared {
    fn is_over_limit(&self) -> bool {
        self.sleep.is_over_push_limit() && !self.has_task_for_one_more()
    }

    fn activity(&self, worker: usize) -> Activity {
        self.slot(worker).activity()
    }

    fn run_state(&self, worker: usize, seen_from: usize) -> RunState {
        self.slot(worker).run_state(self.slot(seen_from).processor())
    }

    fn runnable_threads(&self) -> Option<usize> {
        self.config.assists.has(Assists::RUNNABLE_THREADS).then(os::runnable_threads).flatten()
    }
}
