//! What a worker without work does: a [`IdlePolicy`] decides, and [`Balanced`] is the one that pools have by default.
//!
//! The README beside this file's source says where a thief looks, and lists the policies with their sources.

mod abp;
mod balanced;
mod bws;
mod context;
mod neighbours;
mod pending_wakeups;
mod policy;

pub use crate::sleep::Limit;
pub use abp::Abp;
pub use balanced::Balanced;
pub use bws::Bws;
pub(crate) use context::Peers;
pub use context::{Activity, IdleContext};
pub use policy::{End, IdlePolicy, Move, Thief};
