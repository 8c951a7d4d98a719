//! Fork and join: what programs are written with.

mod join;
mod scope;
mod spawn;

pub use join::join;
pub use scope::{Scope, scope};
pub use spawn::spawn;
