//! The parts of a graph, which depend on each other.

mod arena;
mod builder;
mod context;
mod extras;
mod guarded;
mod handle;
mod interval;
mod lock;
#[cfg(all(test, loom))]
mod models;
mod occurrence;
mod order;
mod point;
mod point_ref;
mod recording;
mod refusal;
mod root;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall;
mod trace;

pub use builder::Builder;
pub use context::Context;
pub use guarded::{Guarded, ReadGuard, WriteGuard};
pub use handle::{Handle, Point};
pub use lock::{IntervalLock, Key};
pub use point_ref::Side;
pub use recording::{IntervalRecord, Recording};
pub use refusal::Refusal;
pub use root::{IntervalCancelled, Root, run};
