//! Fork and join: what programs are written with.

mod broadcast;
mod in_a_child;
mod join;
mod lazy;
mod near;
mod scope;
mod scope_until;
mod spawn;
mod strays;
mod waiting;

pub(crate) use in_a_child::Inherited;
pub use join::join;
pub use near::{join_near, spawn_near};
pub use scope::{Scope, in_place_scope, scope};
pub use scope_until::{CancellableScope, scope_until};
pub use spawn::{spawn, spawn_fifo};
pub use waiting::Waiting;
