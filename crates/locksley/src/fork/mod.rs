//! Fork and join: [`join`](crate::join()), [`scope`](crate::scope()), [`spawn`](crate::spawn()) and
//! broadcasts.

mod broadcast;
pub(crate) mod join;
mod join_near;
mod once_box;
pub(crate) mod scope;
pub(crate) mod spawn;

pub use broadcast::broadcast;
pub(crate) use scope::{Scope, ScopeState};
pub(crate) use spawn::{Spawn, shared_of};
