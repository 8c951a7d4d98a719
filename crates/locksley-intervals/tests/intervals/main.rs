//! Intervals: order, results, locks, refusals, and what becomes of panics and cancellations.

#[path = "../common/mod.rs"]
mod common;

mod failures;
mod guarded;
mod locks;
mod order;
mod places;
mod recording;
mod refusals;
mod results;
mod roots;
