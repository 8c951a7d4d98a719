//! The experiments, one folder each.

pub mod cliff;
mod journal;
pub mod neighbour;
