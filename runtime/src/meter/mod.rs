//! What a scheduler did: counters of each worker, and the processors that it was granted.

mod counters;
mod grant;
mod stats;

pub(crate) use counters::Counters;
pub use grant::{Grant, GrantMeter};
pub use stats::{PoolStats, WorkerStats};
