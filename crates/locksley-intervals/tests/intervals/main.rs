//! Tests of intervals through the public API.

#[path = "../common/mod.rs"]
mod common;

mod cancellation;
mod drafts;
mod failures;
mod guarded;
mod locations;
mod locks;
mod order;
mod places;
mod recording;
mod refusals;
mod results;
mod roots;
mod traced;
