//! How a worker without work looks for some: it asks the pool's policy, and does as that says.

mod cpu_placement;
mod grace_period;
mod near;
mod searcher;
mod untouched;
mod victims;

pub(crate) use searcher::{Found, Searcher};
#[cfg(all(test, not(loom)))]
pub(crate) use untouched::PATIENCE;
