//! Work shares: what the threads of a team divide among themselves. Loops, sections, and what is
//! published to the team by one of its threads.
//!
//! Each thread of a team meets the same sequence of constructs, but not at the same time. So a team
//! has a list of shares, and each thread a position in it ([`Position`]). The first thread that
//! comes to the end of the list prepares a share and appends it by one compare-and-swap: no thread
//! waits for another to do so. The last thread that leaves a share recycles it.

mod doacross;
mod iterations;
mod list;
#[cfg(all(test, loom))]
mod models;
mod ordered;
mod ranges;
mod schedule;
mod share;

pub(crate) use doacross::Doacross;
pub(crate) use iterations::Iterations;
pub(crate) use list::{List, Position};
pub(crate) use schedule::{Cursor, Plan, even_share};
pub(crate) use share::{Preparation, Share};
