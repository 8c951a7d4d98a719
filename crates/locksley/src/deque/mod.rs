//! Where ready tasks wait: a deque for each worker, an inbox for what comes from elsewhere, and a pinned queue for each worker
//! for what is meant for it alone.
//!
//! The README beside this file states the protocols and why they are right.

#[cfg(any(test, feature = "alternatives"))]
#[cfg_attr(
    not(feature = "alternatives"),
    allow(dead_code, unused_imports, reason = "unit tests without the feature")
)]
pub(crate) mod alternatives;
mod chase_lev;
mod contract;
mod inbox;
#[cfg(test)]
mod kinds;
#[cfg(all(test, loom))]
mod models;
mod pinned_queue;
#[cfg(all(test, debug_assertions, not(loom)))]
mod suite;
mod worker_deque;

pub(crate) use chase_lev::{ChaseLevOwner, ChaseLevThief, Closed, Pushed, TakeBack, chase_lev};
pub(crate) use contract::{Closable, Owner, Steal, Thief};
pub(crate) use inbox::Inbox;
pub(crate) use pinned_queue::{PinnedQueue, Reader, pinned_queue};
pub(crate) use worker_deque::{Choice, OwnDeque, SharedDeque, SlowPush};
