//! The machine's topology, and its division into places.

mod absurd;
mod captured;
mod division;
mod folder;
mod hwloc;
mod machines;
mod reading;
