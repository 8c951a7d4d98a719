//! What a worker without work does: a [`Governor`] decides, and [`Balanced`] is the one that pools have by default.
//!
//! The README beside this file's source says where a hunter looks, and lists the policies with their sources.

mod abp;
#[cfg(feature = "alternatives")]
pub(crate) mod alternatives;
mod balanced;
mod bws;
mod forbearance;
mod governor;
mod hunter;
mod near;
mod neighbours;
mod prospect;
mod untouched;
mod victims;
mod whereabouts;
mod wishes;

pub use crate::sleep::Limit;
pub use abp::Abp;
pub use balanced::Balanced;
pub use bws::Bws;
pub use governor::{End, Governor, Hunter, Move};
pub(crate) use hunter::{Found, Goal, Hunt};
pub use prospect::{Activity, Prospect};
#[cfg(all(test, not(loom)))]
pub(crate) use untouched::PATIENCE;
