//! The experiments, one folder each.

pub mod alternatives;
mod bootstrap;
pub mod bound;
mod calibration;
mod cells;
pub mod channels;
pub mod checked;
mod child;
pub mod cliff;
pub mod corun;
mod course;
pub mod estimate;
pub mod figures;
pub mod forkjoin;
mod heading;
pub mod intervals;
mod journal;
pub mod local;
pub mod locality;
mod memory;
pub mod meter;
pub mod missing;
pub mod model;
pub mod multiprogram;
pub mod neighbour;
pub mod number;
mod place;
pub mod program;
pub mod rayon;
pub mod reading;
pub mod scatter;
pub(crate) mod series;
pub mod times;
#[cfg(test)]
mod trial;
pub mod turnkey;
pub mod wait;
