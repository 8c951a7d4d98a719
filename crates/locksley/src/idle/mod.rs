//! What a worker without work does: it searches, yields or sleeps, as an [`IdlePolicy`] says.
//!
//! A pool uses [`Balanced`] unless [`PoolBuilder::idle_policy`](crate::PoolBuilder::idle_policy)
//! gives it another policy. A policy of your own implements [`IdlePolicy`] and [`Thief`]. It
//! decides only how a worker idles. It cannot lose a task or a wake-up.
//!
//! # Examples
//! ```
//! use locksley::{Pool, idle::Balanced};
//!
//! let pool = Pool::builder().workers(2).idle_policy(Balanced::with_threshold(256)).build()?;
//! assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
//! # Ok::<(), locksley::BuildError>(())
//! ```

mod balanced;
mod policy;
#[cfg(all(test, not(loom)))]
#[path = "../../tests/common/idle_policies.rs"]
pub(crate) mod test_policies;
#[cfg(all(test, not(loom)))]
mod tests;

pub use balanced::Balanced;
pub(crate) use policy::Peers;
pub use policy::{Activity, IdleContext, IdlePolicy, Move, Thief};
