//! Yields that come late.

use locksley::idle::{IdleContext, IdlePolicy, Move, Thief};

/// "Delay-yielding" of the BWS paper (EuroSys 2012, section 5.3), after oneTBB's forerunner: when a
/// thief has failed twice as often as there are workers, it yields after each further failure. It
/// never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::DelayedYield;
///
/// let pool = Pool::builder().workers(2).idle_policy(DelayedYield).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayedYield;

impl IdlePolicy for DelayedYield {
    fn name(&self) -> &'static str {
        "delayed-yield"
    }

    fn thief(&self, _worker: usize, _workers: usize) -> Box<dyn Thief> {
        Box::new(*self)
    }
}

impl Thief for DelayedYield {
    fn next(&mut self, context: &IdleContext<'_>) -> Move {
        if context.failures > 2 * context.workers as u64 { Move::Yield } else { Move::Search }
    }
}
