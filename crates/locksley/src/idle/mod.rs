//! What a worker without work does: it searches, yields or sleeps, as an [`IdlePolicy`] says.
//!
//! A pool uses [`Balanced`] unless [`PoolBuilder::idle_policy`](crate::PoolBuilder::idle_policy)
//! gives it another policy: [`Bws`] and [`Abp`] are close to those of two papers, and a policy of
//! your own implements [`IdlePolicy`] and [`Thief`]. A policy decides only how a worker idles. It
//! cannot lose a task or a wake-up.
//!
//! # Examples
//! ```
//! use locksley::{Pool, idle::Abp};
//!
//! let pool = Pool::builder().workers(2).idle_policy(Abp::default()).build()?;
//! assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
//! # Ok::<(), locksley::BuildError>(())
//! ```

mod abp;
mod balanced;
mod bws;
mod policy;
#[cfg(all(test, not(loom)))]
mod tests;

pub use abp::Abp;
pub use balanced::Balanced;
pub use bws::Bws;
pub(crate) use policy::Peers;
pub use policy::{Activity, End, IdleContext, IdlePolicy, Move, Thief};
