//! How a worker without work looks for some: it asks the pool's policy, and does as that says.

mod forbearance;
mod hunter;
mod near;
mod untouched;
mod victims;
mod whereabouts;

pub(crate) use hunter::{Found, Hunt};
#[cfg(all(test, not(loom)))]
pub(crate) use untouched::PATIENCE;
