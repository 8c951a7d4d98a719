//! Where ready tasks wait: a deque for each worker, and an inbox for what comes from elsewhere.
//!
//! The README beside this file states the protocols and why they are right.

#[cfg(any(test, feature = "alternatives"))]
#[allow(dead_code, unused_imports, reason = "no pool can be given another deque yet")]
pub(crate) mod alternatives;
mod chase_lev;
mod contract;
mod hazard;
mod inbox;
#[cfg(test)]
mod kinds;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod suite;

pub(crate) use chase_lev::{ChaseLevOwner, ChaseLevThief, Closed, Pushed, TakeBack, chase_lev};
pub(crate) use contract::{Owner, Steal, Thief};
pub(crate) use inbox::Inbox;
