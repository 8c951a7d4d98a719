//! The experiments, one folder each.

pub mod alternatives;
pub mod cliff;
mod journal;
pub mod neighbour;
