//! Algorithm 1 of the BWS paper.

use locksley::idle::Move;

use super::Memoryless;

/// "ABP" of the BWS paper (EuroSys 2012, section 2.3, Algorithm 1), as Cilk++ implements it: a
/// thief yields before each attempt, the first one included. It never lowers its priority and never
/// sleeps, so an idle pool keeps all processors busy.
///
/// Two parts of a pool ignore the policy, and differ from Cilk++. A worker that waits in a join or
/// a scope helps, and parks after 200 µs, while a replacement searches in its place. And before
/// each yield, a thief with an unanswered open request opens deques by force, and may steal a task
/// that the owner would have run during the yield.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_lab::policies::EXACT_ABP;
///
/// let pool = Pool::builder().workers(2).idle_policy(EXACT_ABP).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
pub const EXACT_ABP: Memoryless = Memoryless { name: "exact-abp", next: |_| Move::Yield };
