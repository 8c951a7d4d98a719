//! Yields that come late.

use locksley::idle::{IdleContext, Move};

use super::Memoryless;

/// "Delay-yielding" of the BWS paper (EuroSys 2012, section 5.3), after oneTBB's forerunner: when a
/// thief has failed twice as often as there are workers, it yields after each further failure. It
/// never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::DELAYED_YIELD;
///
/// let pool = Pool::builder().workers(2).idle_policy(DELAYED_YIELD).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const DELAYED_YIELD: Memoryless = Memoryless { name: "delayed-yield", next };

fn next(context: &IdleContext<'_>) -> Move {
    if context.failures > 2 * context.workers as u64 { Move::Yield } else { Move::Search }
}
