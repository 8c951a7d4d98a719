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
pub mod local;
pub mod locality;
mod memory;
pub mod missing;
pub mod model;
pub mod neighbour;
mod place;
pub mod program;
pub mod rayon;
pub mod reading;
pub mod scatter;
mod series;
pub mod turnkey;
pub mod wait;
