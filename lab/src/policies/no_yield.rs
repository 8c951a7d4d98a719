//! No yields: non-blocking deques alone.

use locksley::idle::Move;

use super::Memoryless;

/// The "naive non-blocking" work stealer of Hood's study ("The Performance of Work Stealing in
/// Multiprogrammed Environments", 1998, section 4): a thief never yields, lowers its priority or
/// sleeps.
///
/// With more workers than processors, thieves keep the worker that has work off the processors. An
/// idle pool keeps all processors busy.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::NO_YIELD;
///
/// let pool = Pool::builder().workers(2).idle_policy(NO_YIELD).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const NO_YIELD: Memoryless = Memoryless { name: "no-yield", next: |_| Move::Search };
