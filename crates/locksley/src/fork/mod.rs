//! Fork and join: [`join`](crate::join()), [`scope`](crate::scope()), [`spawn`](crate::spawn()) and
//! broadcasts.

mod broadcast;
mod join;
mod join_near;
mod lazy;
mod scope;
mod spawn;

pub use join::join;
pub(crate) use scope::ScopeState;
pub use scope::{Scope, in_place_scope, scope, scope_until};
pub(crate) use spawn::shared_of;
pub use spawn::{Spawn, spawn, spawn_with};
