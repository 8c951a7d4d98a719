//! Where ready tasks wait: a deque for each worker, and inboxes for tasks from other threads.
//!
//! The README beside this file states the protocols and the arguments.

mod chase_lev;
mod inbox;
#[cfg(test)]
mod tests;

pub(crate) use chase_lev::{ChaseLevOwner, ChaseLevThief, OpenRequest, Steal, TakeBack, chase_lev};
pub(crate) use inbox::Inbox;
