//! Where ready tasks wait: a deque for each worker, and an inbox for what comes from elsewhere.
//!
//! The README beside this file states the protocols and why they are right.

mod chase_lev;
mod contract;
mod hazard;
mod inbox;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod suite;

pub(crate) use chase_lev::{ChaseLevOwner, ChaseLevThief, Closed, Pushed, TakeBack, chase_lev};
pub(crate) use contract::{Owner, Steal, Thief};
pub(crate) use inbox::Inbox;
