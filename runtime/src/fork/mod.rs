//! Fork and join: what programs are written with.

mod broadcast;
mod join;
mod metered;
mod scope;
mod scope_until;
mod spawn;
mod waiting;

pub use join::join;
pub use scope::{Scope, in_place_scope, scope};
pub use scope_until::{CancellableScope, scope_until};
pub use spawn::{spawn, spawn_fifo};
pub use waiting::Waiting;
