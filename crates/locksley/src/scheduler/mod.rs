//! The scheduler: workers, what they share, and how each searches, waits and is replaced.
//!
//! | where | what |
//! |---|---|
//! | `worker/` | the thread of a pool that runs tasks: its loop, its deque, its waits |
//! | `search/` | how a worker without work looks for some, and parks |
//! | `shared/` | what all workers of a pool share, and the threads that send them work |
//! | `replacement/` | threads that take the slots of workers which block |
//! | `allowance/` | how many workers may be awake: quotas, affinity, other programs |
//! | `job.rs`, `latch.rs` | what deques hold, and how it says that it is done |
//! | `slot.rs`, `division.rs`, `pending/` | one worker's slot, the pool's places, what keeps it open |
//! | `observed.rs` | the slow path of observed pools |
//! | `config.rs` | what a pool is told when it is built |

pub(crate) mod allowance;
pub(crate) mod config;
pub(crate) mod division;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod observed;
pub(crate) mod pending;
pub(crate) mod placement;
pub(crate) mod replacement;
pub(crate) mod search;
pub(crate) mod shared;
pub(crate) mod slot;
pub(crate) mod worker;

pub(crate) use division::PlaceState;
pub(crate) use shared::Shared;
pub(crate) use slot::Slot;
pub use worker::Worker;
