//! Tests of the queues.

#[cfg(loom)]
mod models;
mod owners;
#[cfg(all(debug_assertions, not(loom)))]
mod suite;
