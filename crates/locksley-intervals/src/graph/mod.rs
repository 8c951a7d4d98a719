//! The parts of a graph.

mod arena;
pub(crate) mod builder;
pub(crate) mod cancellation;
pub(crate) mod context;
pub(crate) mod draft;
mod edges;
pub(crate) mod guarded;
mod interval;
pub(crate) mod lock;
mod lock_set;
#[cfg(all(test, loom))]
mod models;
mod occurrence;
mod order;
pub(crate) mod point;
pub(crate) mod recording;
pub(crate) mod refusal;
pub(crate) mod root;
mod root_state;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall;
mod trace;
