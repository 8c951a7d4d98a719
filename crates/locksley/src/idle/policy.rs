//! The traits of idle policies: what they decide for a pool and for each of its thieves.

use std::fmt::Debug;
use std::time::Duration;

use super::context::IdleContext;

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

    /// Called when the search has ended. Does nothing by default.
    fn search_ends(&mut self, context: &IdleContext<'_>, end: End) {
        let _ = (context, end);
    }
}

/// Why a search has ended: see [`Thief::search_ends`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// A task was taken from another worker.
    Stole,
    /// A task was taken from an inbox or the injector.
    Received,
    /// The pool is closed, or a replacement is no longer needed.
    Over,
}

/// What a thief does next. See [`IdleContext`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Move {
    /// Makes an attempt to find work.
    Search,
    /// Yields the processor, then makes an attempt.
    Yield,
    /// Yields at the lowest priority, so that it comes back when no other thread wants the
    /// processor; then restores the priority and makes an attempt. Where priority cannot be
    /// restored, this is [`Yield`](Self::Yield).
    YieldLowered,
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
