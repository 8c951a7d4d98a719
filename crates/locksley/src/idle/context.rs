//! What a thief knows when it decides.

use std::fmt;

use crate::os::Standing;

/// What a thief knows when it decides. Figures about other workers were true a moment ago.
///
/// # Examples
/// A thief that gives way to a peer which has work and waits for this processor:
/// ```
/// use locksley::idle::{Activity, Thief, Move, IdleContext};
/// use locksley::os::Standing;
///
/// struct Polite;
/// impl Thief for Polite {
///     fn next(&mut self, context: &IdleContext<'_>) -> Move {
///         let waits_here = |&peer: &usize| {
///             context.activity(peer) == Activity::Works
///                 && context.standing(peer) == Standing::WaitsHere
///         };
///         match context.victim.filter(waits_here) {
///             Some(peer) => Move::HandOver(peer),
///             None if context.failures > 100 => Move::Sleep,
///             None => Move::Search,
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct IdleContext<'a> {
    /// Attempts that failed in a row since the search began, or since the worker last slept.
    pub failures: u64,
    /// Whether a task on this worker waits for another one to end: then somebody waits for this search.
    pub waits: bool,
    /// Workers of the pool.
    pub workers: usize,
    /// Workers that search, this one included.
    pub searching: usize,
    /// Workers that sleep.
    pub asleep: usize,
    /// Processors that the process was allowed to use when the pool was built; or, where nobody has [chosen](crate::PoolBuilder::workers) a
    /// number of workers, that it may use now.
    pub processors: usize,
    /// This worker.
    pub worker: usize,
    /// The worker whose deque the last attempt tried, or left alone because it belongs to another place; `None` if that was a replacement, or there was none.
    pub victim: Option<usize>,
    /// Where it sits: a replacement has the number of another worker.
    pub(crate) slot: usize,
    pub(crate) peers: &'a dyn Peers,
}

/// What a worker does, as it says itself. There is an example at [`IdleContext`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// It runs a task, or would if it had a processor.
    #[default]
    Works,
    /// It looks for work.
    Searches,
    /// It sleeps, or is in a [blocking call](crate::Worker::blocking).
    Sleeps,
}

/// What a pool tells of its workers.
pub(crate) trait Peers {
    /// Whether as many other workers are awake as may be.
    fn is_over_the_limit(&self) -> bool;
    fn activity(&self, worker: usize) -> Activity;
    /// Where `worker` is, as seen from the processor of another slot.
    fn standing(&self, worker: usize, seen_from: usize) -> Standing;
    /// Threads of all programs that can run.
    fn runnable_threads(&self) -> Option<usize>;
}

impl IdleContext<'_> {
    /// Workers other than this one that are awake: they run tasks or search.
    #[must_use]
    pub fn others_awake(&self) -> usize {
        self.workers.saturating_sub(self.asleep + 1)
    }

    /// Workers that are awake and do not search.
    #[must_use]
    pub fn working(&self) -> usize {
        self.workers.saturating_sub(self.asleep + self.searching)
    }

    /// Whether as many others are awake as the idle policy's [`limit`](super::IdlePolicy::limit) allows, and nothing was sent for which one more is [welcome](crate::Pool::size).
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.peers.is_over_the_limit()
    }

    /// What `worker` does.
    ///
    /// # Panics
    /// If there is no such worker.
    #[must_use]
    pub fn activity(&self, worker: usize) -> Activity {
        self.peers.activity(worker)
    }

    /// Where `worker` is, as far as the system tells: the first thing to ask is its [`activity`](Self::activity), because a thief
    /// or sleeper has nothing that anybody waits for. Costs some tens of nanoseconds, and no system call.
    ///
    /// # Panics
    /// If there is no such worker.
    #[must_use]
    pub fn standing(&self, worker: usize) -> Standing {
        self.peers.standing(worker, self.slot)
    }

    /// Threads of other programs that can run: how many processors others want. `None` where the system does not tell. A
    /// system call, of about 2 µs.
    #[must_use]
    pub fn others_on_the_machine(&self) -> Option<usize> {
        let all = self.peers.runnable_threads()?;
        Some(all.saturating_sub(self.workers.saturating_sub(self.asleep)))
    }
}

impl fmt::Debug for IdleContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleContext")
            .field("failures", &self.failures)
            .field("waits", &self.waits)
            .field("workers", &self.workers)
            .field("searching", &self.searching)
            .field("asleep", &self.asleep)
            .field("processors", &self.processors)
            .field("worker", &self.worker)
            .field("victim", &self.victim)
            .finish_non_exhaustive()
    }
}
