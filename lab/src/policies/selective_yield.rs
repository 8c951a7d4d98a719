//! Yields that are few.

use locksley::idle::{IdleContext, Move};

use super::Memoryless;

/// "Selective-yielding" of the BWS paper (EuroSys 2012, section 5.3): a thief yields after every
/// 64th failure. It never sleeps.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::SELECTIVE_YIELD;
///
/// let pool = Pool::builder().workers(2).idle_policy(SELECTIVE_YIELD).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const SELECTIVE_YIELD: Memoryless = Memoryless { name: "selective-yield", next };

const FAILURES: u64 = 64;

fn next(context: &IdleContext<'_>) -> Move {
    let is_due = context.failures > 0 && context.failures.is_multiple_of(FAILURES);
    if is_due { Move::Yield } else { Move::Search }
}
