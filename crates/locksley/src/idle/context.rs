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
    /// Processors that the process may use.
    pub processors: usize,
    /// The index of this worker.
    pub worker: usize,
    /// The victim of the last attempt. `None` before the first attempt, if the attempt had no
    /// victim, and if the victim was a replacement. A number from [`workers`](Self::workers) on
    /// stands for a guest: a thread outside of the pool that runs a task of it
    /// ([`Pool::install`](crate::Pool::install)).
    pub victim: Option<usize>,
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
    /// Workers that search.
    fn searching(&self) -> usize;
    /// Workers that do not sleep.
    fn active(&self) -> usize;
    /// See [`IdleContext::is_machine_quiet`].
    fn is_machine_quiet(&self) -> bool;
    fn activity(&self, worker: usize) -> Activity;
    /// Where the thread of `worker` is, as seen from the processor of the slot `seen_from`.
    fn run_state(&self, worker: usize, seen_from: usize) -> RunState;
    /// The number of runnable threads of all programs.
    fn runnable_threads(&self) -> Option<usize>;
}

impl IdleContext<'_> {
    /// The number of workers that search, this one included.
    #[must_use]
    pub fn searching(&self) -> usize {
        self.peers.searching()
    }

    /// The number of workers that sleep.
    #[must_use]
    pub fn asleep(&self) -> usize {
        self.workers.saturating_sub(self.peers.active())
    }

    /// True if other programs have hardly wanted a processor lately. The pool takes a sample of the
    /// runnable threads every 2 ms while its workers search.
    #[must_use]
    pub fn is_machine_quiet(&self) -> bool {
        self.peers.is_machine_quiet()
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
        Some(all.saturating_sub(self.peers.active()))
    }
}
