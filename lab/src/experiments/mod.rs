//! The experiments, one folder each.

pub mod alternatives;
pub mod cliff;
pub mod corun;
mod course;
pub mod forkjoin;
mod journal;
pub mod model;
pub mod neighbour;
pub mod rayon;
pub mod wait;
