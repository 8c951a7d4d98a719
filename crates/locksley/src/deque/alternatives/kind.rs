//! Which deque the workers of a pool have.

/// One of the deques that Hood's study compares ("The Performance of Work Stealing in Multiprogrammed Environments",
/// 1998, section 4), or one that was rejected. A pool has the growable one of Chase and Lev unless it is given one of these.
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
    /// The bounded non-blocking array of Arora, Blumofe and Plaxton (SPAA 1998), which Hood itself used.
    AbpArray,
    /// The same, but that its owner makes no fence: a thief whose victim has something makes a barrier in all running threads
    /// (`membarrier`). Where that does not work, it is [`AbpArray`](Self::AbpArray).
    AbpBarrier,
    /// A ring and a lock around it; a caller that finds it taken spins.
    SpinningLock,
    /// A ring and a lock around it; a caller that finds it taken blocks.
    BlockingLock,
}
