//! The experiments, one folder each.

pub mod alternatives;
pub mod cliff;
pub mod forkjoin;
mod journal;
pub mod neighbour;
