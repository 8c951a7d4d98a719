//! The parts of a graph, which know each other: intervals, points, edges, locks, the arena.

mod arena;
mod builder;
mod context;
mod guarded;
mod handle;
mod interval;
mod lock;
#[cfg(all(test, loom))]
mod models;
mod notes;
mod occurrence;
mod order;
mod point;
mod record;
mod refusal;
mod root;
mod special;
#[cfg(all(test, debug_assertions, not(loom)))]
mod stall;

pub use builder::Builder;
pub use context::Context;
pub use guarded::{Guarded, Reading, Writing};
pub use handle::{Handle, Input, Point};
pub use interval::Side;
pub use lock::{IntervalLock, Key};
pub use record::{Recorded, Recording};
pub use refusal::{PointName, Refusal};
pub use root::{IntervalCancelled, Root, run};
