//! Where ready tasks wait: a deque for each worker, and inboxes for tasks from other threads.
//!
//! The README beside this file states the protocols and the arguments.

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
mod tests;
mod worker_deque;

pub(crate) use chase_lev::{ChaseLevOwner, ChaseLevThief, OpenRequest, TakeBack, chase_lev};
pub(crate) use contract::{SlowPush, Steal};
pub(crate) use inbox::Inbox;
pub(crate) use worker_deque::{DequeChoice, OwnDeque, SharedDeque};
