//! The contract of idle policies: what they decide for a pool, and for each of its thieves.

use std::fmt::Debug;
use std::time::Duration;

use super::context::IdleContext;
use crate::sleep::Limit;

/// Decides what workers without work do. One idle policy serves one pool; it makes a [`Thief`] for each worker.
///
/// A policy is one file that implements these two traits. It decides only *how* a worker idles: that no ready task is
/// left alone while a worker sleeps is kept by the pool, whatever a idle policy says.
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
    /// What the policy is called in reports.
    fn name(&self) -> &'static str;

    /// The policy's state for one worker of `workers`. Called on that worker's thread, once; and on that of a
    /// [replacement](crate::Worker::blocking), with the number of the worker that it replaces first.
    fn thief(&self, worker: usize, workers: usize) -> Box<dyn Thief>;

    /// How many workers pushes wake, at the most, where the process may use so many processors. If not overridden: no limit. Asked again when that
    /// changes, where nobody has [chosen](crate::PoolBuilder::workers) a number of workers; no more may be awake there than are allowed.
    fn limit(&self, processors: usize) -> Limit {
        let _ = processors;
        Limit::NONE
    }

    /// How long a turn on the processor workers ask for, where the kernel grants such pending wake-ups
    /// ([`Assists::SHORT_TURNS`](crate::os::Assists::SHORT_TURNS)). If not overridden: as long as everybody's.
    fn turn(&self) -> Option<Duration> {
        None
    }

    /// Whether workers that are woken go where no other worker is, if nobody else wants the machine, wherever the kernel would have put them
    /// ("Where a sleeper wakes", in the README beside the source of `sleep`). If not overridden: they stay where the kernel puts them. Where workers may not be moved
    /// ([`Assists::MOVES`](crate::os::Assists::MOVES)), the system does not tell how many threads can run, or the machine has more than 64 processors, they stay in any case.
    fn spreads(&self) -> bool {
        false
    }

    /// How many sleepers a worker wakes with every push, though it has better things to do. Only for comparison.
    fn wakes_with_every_push(&self) -> usize {
        0
    }
}

/// One worker's side of a policy. It is asked while the worker has nothing else to do, and only then.
///
/// A method that panics ends the process: a thief may be standing on frames that other workers point into.
pub trait Thief {
    /// What the thief does next. Asked first when the search begins, and then after each attempt that failed.
    fn next(&mut self, context: &IdleContext<'_>) -> Move;

    /// The search is over.
    fn search_ends(&mut self, context: &IdleContext<'_>, end: End) {
        let _ = (context, end);
    }
}

/// Why a search is over: see [`Thief::search_ends`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// A task was taken from another worker.
    Stole,
    /// A task was taken from the pool's inbox.
    Received,
    /// What the worker waited for has happened, or the pool is closed.
    Over,
}

/// What a thief does next. There is an example at [`IdleContext`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Move {
    /// Try to find work.
    Search,
    /// Let somebody else have the processor, then try.
    Yield,
    /// The same at the lowest priority: come back when nobody else wants the processor, then be as before and try.
    /// Where priority cannot be lowered and restored, this is [`Yield`](Self::Yield).
    YieldLowered,
    /// Give the processor to this worker, if it could run and does not: bring it here if it waits elsewhere, yield, and then
    /// try. It is as near as one comes to the system call `yield_to` of BWS (EuroSys 2012, section 4).
    HandOver(usize),
    /// Go to a processor that no other worker of the pool ran on last, if there is one, then try.
    MoveAway,
    /// Wake this worker if it sleeps, then try.
    Wake(usize),
    /// Sleep until there is work, or not at all if there is some already; then try everything once. A worker beyond the
    /// idle policy's [`limit`](IdlePolicy::limit) tries only what nobody else seems to touch.
    Sleep,
}
