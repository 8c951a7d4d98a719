//! Fork and join: what programs are written with.

mod broadcast;
mod join;
mod lazy;
mod near;
mod scope;
mod scope_until;
mod spawn;

pub use join::join;
pub use near::{join_near, spawn_near};
pub(crate) use scope::ScopeTally;
pub use scope::{Scope, in_place_scope, scope};
pub use scope_until::{CancellableScope, scope_until};
pub use spawn::{spawn, spawn_fifo};
