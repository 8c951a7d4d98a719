//! The parts of a graph, which depend on each other.

mod arena;
pub(crate) mod builder;
pub(crate) mod context;
mod extras;
pub(crate) mod guarded;
pub(crate) mod handle;
mod interval;
pub(crate) mod lock;
#[cfg(all(test, loom))]
mod models;
mod occurrence;
mod order;
mod point;
pub(crate) mod point_ref;
pub(crate) mod recording;
pub(crate) mod refusal;
pub(crate) mod root;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall;
mod trace;
