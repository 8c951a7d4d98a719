//! The deques that a pool can be built with.

/// A deque for comparisons, in place of the growable one of Chase and Lev.
///
/// All but [`AbpBarrier`](Self::AbpBarrier) are from Hood's study ("The Performance of Work
/// Stealing in Multiprogrammed Environments", 1998, section 4).
///
/// # Examples
/// ```
/// use locksley::{Pool, alternatives::DequeKind};
///
/// let pool = Pool::builder().workers(2).deque(DequeKind::SpinningLock).build()?;
/// assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(feature = "alternatives"),
    allow(unreachable_pub, reason = "unit tests without the feature")
)]
pub enum DequeKind {
    /// The bounded non-blocking array of Arora, Blumofe and Plaxton (SPAA 1998), which Hood used.
    AbpArray,
    /// The same array without the owner's fence. If its victim is not empty, a thief makes a
    /// barrier in all running threads (`membarrier`). Where that is not available, it is
    /// [`AbpArray`](Self::AbpArray).
    AbpBarrier,
    /// A ring in a lock. A caller that finds the lock taken spins.
    SpinningLock,
    /// A ring in a lock. A caller that finds the lock taken blocks.
    BlockingLock,
}
