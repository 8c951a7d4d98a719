//! The contract of governors: what a hunter is told, and what it may be told to do.

use std::fmt::Debug;

/// Decides what workers without work do. One governor serves a pool; it makes one [`Hunter`] for each worker.
///
/// A policy is one file that implements these two traits. It decides only *how* a worker idles: that no ready task is
/// left alone while a worker sleeps is kept by the pool, whatever a governor says.
///
/// # Examples
/// A policy that tries a hundred times and then sleeps:
/// ```
/// use locksley::hunt::{Governor, Hunter, Move, Prospect};
///
/// #[derive(Debug)]
/// struct Hundred;
/// impl Governor for Hundred {
///     fn name(&self) -> &'static str {
///         "hundred"
///     }
///     fn hunter(&self, _worker: usize) -> Box<dyn Hunter> {
///         Box::new(Hundred)
///     }
/// }
/// impl Hunter for Hundred {
///     fn next(&mut self, prospect: &Prospect) -> Move {
///         if prospect.failures < 100 { Move::Search } else { Move::Sleep }
///     }
/// }
///
/// let pool = locksley::Pool::builder().workers(2).governor(Hundred).build()?;
/// assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub trait Governor: Debug + Send + Sync + 'static {
    /// What the policy is called in reports.
    fn name(&self) -> &'static str;

    /// The policy's state for one worker. Called on that worker's thread, once.
    fn hunter(&self, worker: usize) -> Box<dyn Hunter>;
}

/// One worker's side of a policy. It is asked while the worker has nothing else to do, and only then.
///
/// A method that panics ends the process: a hunter may be standing on frames that other workers point into.
pub trait Hunter {
    /// What the hunter does next. Asked first when the hunt begins, and then after each attempt that failed.
    fn next(&mut self, prospect: &Prospect) -> Move;

    /// The hunt is over, because work was found or because what the worker waited for has happened.
    fn hunt_ends(&mut self, prospect: &Prospect) {
        let _ = prospect;
    }
}

/// What a hunter knows when it decides. Figures about other workers were true a moment ago.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Prospect {
    /// Attempts that failed in a row since the hunt began, or since the worker last slept.
    pub failures: u64,
    /// Whether a task on this worker waits for another one to end: then somebody waits for this hunt.
    pub waits: bool,
    /// Workers of the pool.
    pub workers: usize,
    /// Workers that hunt, this one included.
    pub hunting: usize,
    /// Workers that sleep.
    pub asleep: usize,
    /// Processors that the process was allowed to use when the pool was built.
    pub processors: usize,
}

impl Prospect {
    /// Workers other than this one that are awake: they run tasks or hunt.
    #[must_use]
    pub fn others_awake(&self) -> usize {
        self.workers.saturating_sub(self.asleep + 1)
    }
}

/// What a hunter does next.
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
    /// Sleep until there is work, or not at all if there is some already; then try everything once.
    Sleep,
}
