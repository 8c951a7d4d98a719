//! What a policy can ask about the pool and the machine.

use std::fmt::Debug;

use crate::os::RunState;

/// What a thief knows when it decides. The numbers may be out of date by the time they are read.
///
/// # Examples
/// A thief that yields to a peer which has work and waits for this processor:
/// ```
/// use locksley::idle::{Activity, Thief, Move, IdleContext};
/// use locksley::os::RunState;
///
/// struct Polite;
/// impl Thief for Polite {
///     fn next(&mut self, context: &IdleContext<'_>) -> Move {
///         let waits_here = |&peer: &usize| {
///             context.activity(peer) == Activity::Works
///                 && context.run_state(peer) == RunState::WaitsHere
///         };
///         match context.victim.filter(waits_here) {
///             Some(peer) => Move::HandOver(peer),
///             None if context.failures > 100 => Move::Sleep,
///             None => Move::Search,
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct IdleContext<'a> {
    /// Failed attempts in a row, since the search began or the worker last slept.
    pub failures: u64,
    /// Workers of the pool.
    pub workers: usize,
    /// Workers that search, this one included.
    pub searching: usize,
    /// Workers that sleep.
    pub asleep: usize,
    /// Processors that the process may use: now, or, if the number of workers was
    /// [chosen](crate::PoolBuilder::workers), when the pool was built.
    pub processors: usize,
    /// The index of this worker.
    pub worker: usize,
    /// The victim of the last attempt, even if the attempt left it alone because it belongs to
    /// another place. `None` before the first attempt, and if the victim was a replacement. A
    /// number from [`workers`](Self::workers) on stands for a thread outside of the pool that runs
    /// a task of it ([`Pool::install`](crate::Pool::install)).
    pub victim: Option<usize>,
    /// How often external threads were woken, or have ended a call that they ran themselves.
    pub(crate) external_wakeups: u32,
    pub(crate) slot: usize,
    pub(crate) peers: &'a dyn Peers,
}

/// What a worker does, as it has published itself. See [`IdleContext`] for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// It runs a task, or is ready to run one and has no processor.
    #[default]
    Works,
    /// It searches for work.
    Searches,
    /// It sleeps, or is in a [blocking call](crate::blocking()).
    Sleeps,
}

/// What an [`IdleContext`] asks the pool.
pub(crate) trait Peers: Debug {
    /// See [`IdleContext::is_over_limit`].
    fn is_over_limit(&self) -> bool;
    fn activity(&self, worker: usize) -> Activity;
    /// Where the thread of `worker` is, as seen from the processor of the slot `seen_from`.
    fn run_state(&self, worker: usize, seen_from: usize) -> RunState;
    /// The number of runnable threads of all programs.
    fn runnable_threads(&self) -> Option<usize>;
}

impl IdleContext<'_> {
    /// True if as many other workers are awake as the policy's [`limit`](super::IdlePolicy::limit)
    /// allows, and no sent task justifies [one more](crate::Pool::size).
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.peers.is_over_limit()
    }

    /// What the worker with index `worker` does.
    ///
    /// # Panics
    /// If there is no such worker.
    #[must_use]
    pub fn activity(&self, worker: usize) -> Activity {
        self.peers.activity(worker)
    }

    /// Where the thread of `worker` is, as far as the system tells.
    ///
    /// Ask for its [`activity`](Self::activity) first: a thief or a sleeper holds no work back.
    /// Takes some tens of nanoseconds and no system call.
    ///
    /// # Panics
    /// If there is no such worker.
    #[must_use]
    pub fn run_state(&self, worker: usize) -> RunState {
        self.peers.run_state(worker, self.slot)
    }

    /// The number of runnable threads of other programs: how many processors they want. `None`
    /// where the system does not tell. Takes a system call of about 2 µs.
    #[must_use]
    pub fn others_on_the_machine(&self) -> Option<usize> {
        let all = self.peers.runnable_threads()?;
        Some(all.saturating_sub(self.workers.saturating_sub(self.asleep)))
    }
}
