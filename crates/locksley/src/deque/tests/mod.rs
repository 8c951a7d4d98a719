//! Tests of the queues.

mod kinds;
#[cfg(loom)]
mod models;
#[cfg(all(debug_assertions, not(loom)))]
mod suite;
