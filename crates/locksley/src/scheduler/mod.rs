//! The scheduler: workers, what they share, and how each of them searches, waits and is replaced.
//!
//! | where | what |
//! |---|---|
//! | `worker/` | a worker: its loop, its deque, its waits |
//! | `search/` | how a worker without work searches for some, and sleeps |
//! | `shared/` | what the workers of a pool, and the threads that send them work, share |
//! | `replacement/` | threads that work under the index of a worker that blocks |
//! | `external.rs` | threads outside of the pool that act for a parked worker |
//! | `allowance/` | how many workers may be awake: quotas, affinity, other programs |
//! | `job.rs`, `latch.rs` | what deques hold, and how a task announces its end |
//! | `slot.rs`, `place_map.rs`, `pending/` | the slot of a worker, places, what keeps a pool open |
//! | `observed.rs` | the slow path of observed pools |
//! | `config.rs`, `placement.rs` | what a pool is built with |

pub(crate) mod allowance;
pub(crate) mod config;
pub(crate) mod external;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod observed;
pub(crate) mod pending;
pub(crate) mod place_map;
pub(crate) mod placement;
pub(crate) mod replacement;
pub(crate) mod search;
pub(crate) mod shared;
pub(crate) mod slot;
pub(crate) mod worker;

pub(crate) use place_map::PlaceState;
pub(crate) use shared::Shared;
pub(crate) use slot::Slot;
pub(crate) use worker::Worker;
