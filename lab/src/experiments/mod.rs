//! The experiments, one folder each.

pub mod alternatives;
mod cells;
pub mod channels;
pub mod cliff;
pub mod corun;
mod course;
pub mod forkjoin;
pub mod intervals;
mod journal;
pub mod missing;
pub mod model;
pub mod neighbour;
pub mod rayon;
pub mod scatter;
pub mod wait;
