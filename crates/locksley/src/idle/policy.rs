//! The traits of idle policies: what they decide for a pool and for each of its thieves, and what
//! they can ask about the pool and the machine.

use std::fmt::Debug;
use std::time::Duration;

use crate::os::RunState;

/// Decides what the workers of one pool do without work. It makes a [`Thief`] for each of them.
///
/// A policy decides only *how* a worker idles. Whatever it says, the pool's sleep protocol finds
/// every ready task.
///
/// # Examples
/// A policy that tries a hundred times and then sleeps:
/// ```
/// use locksley::idle::{IdlePolicy, Thief, Move, IdleContext};
///
/// #[derive(Debug)]
/// struct Hundred;
/// impl IdlePolicy for Hundred {
///     fn name(&self) -> &'static str {
///         "hundred"
///     }
///     fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
///         Box::new(Hundred)
///     }
/// }
/// impl Thief for Hundred {
///     fn next(&mut self, context: &IdleContext<'_>) -> Move {
///         if context.failures < 100 { Move::Search } else { Move::Sleep }
///     }
/// }
///
/// let pool = locksley::Pool::builder().workers(2).idle_policy(Hundred).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub trait IdlePolicy: Debug + Send + Sync + 'static {
    /// The name of the policy in reports.
    fn name(&self) -> &'static str;

    /// Makes the state for one worker of `workers`. Called once on the thread of each worker, and
    /// on that of each [replacement](crate::blocking()), with the index of the worker that it
    /// replaces first.
    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief>;

    /// True if the pool limits how many workers are active at a time, as
    /// [`Pool::size`](crate::Pool::size) describes. By default all may be.
    fn is_limited(&self) -> bool {
        false
    }

    /// The time slice that workers ask the kernel for, where it grants one
    /// ([`Assists::SHORT_TIME_SLICES`](crate::os::Assists::SHORT_TIME_SLICES)). The kernel's own by
    /// default.
    ///
    /// The workers have it, and the flag `SCHED_FLAG_RESET_ON_FORK`, before their start hooks run.
    /// A hook that changes scheduling attributes has to keep that flag, which an unprivileged
    /// thread cannot clear.
    fn time_slice(&self) -> Option<Duration> {
        None
    }
}

/// The state of a policy for one worker, which asks it while it has no work.
///
/// # Panics
/// A method that panics aborts the process: below the thief on its stack may be frames that other
/// workers refer to.
pub trait Thief {
    /// Decides what the thief does next. Called when the search begins and after each failed
    /// attempt.
    fn next(&mut self, context: &IdleContext<'_>) -> Move;

    /// Called when the search has ended with a task of another worker. Does nothing by default.
    fn stole(&mut self, context: &IdleContext<'_>) {
        let _ = context;
    }
}

/// What a thief does next. See [`IdleContext`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Move {
    /// Makes an attempt to find work.
    Search,
    /// Yields the processor, then makes an attempt.
    Yield,
    /// Gives the processor to this worker if it is ready and waits for just this processor: yields,
    /// and then makes an attempt. Approximates the system call `yield_to` of BWS (EuroSys 2012,
    /// section 4), without moving a thread.
    HandOver(usize),
    /// Wakes this worker if it sleeps, then makes an attempt.
    Wake(usize),
    /// Sleeps until there may be work, then looks everywhere once. Does not sleep if there is work
    /// already that the worker may run.
    Sleep,
}

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
    /// Failed attempts in a row, since the search began or the worker last slept. The look
    /// everywhere after a sleep does not count.
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
    /// Workers that do not sleep.
    fn active(&self) -> usize;
    /// See [`IdleContext::is_machine_quiet`].
    fn is_machine_quiet(&self) -> bool;
    fn activity(&self, worker: usize) -> Activity;
    /// Where the thread of `worker` is, as seen from the processor of the slot `seen_from`.
    fn run_state(&self, worker: usize, seen_from: usize) -> RunState;
}

impl IdleContext<'_> {
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
}
