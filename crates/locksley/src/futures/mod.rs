//! Futures as tasks: how workers poll them, and how they wait, wake and end.
//!
//! [`task`](crate::task) is what programs use. The README beside this file has the states and the
//! argument.

pub(crate) mod cell;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod header;
pub(crate) mod in_pool;
#[cfg(all(test, loom))]
mod models;
mod owned;
mod state;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;

pub(crate) use handle::JoinHandle;
pub(crate) use in_pool::{is_large, spawn_by, spawn_closure_by};
pub(crate) use owned::OwnedTasks;
