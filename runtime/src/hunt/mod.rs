//! What a worker without work does: a [`Governor`] decides, and [`Abp`] is the one that pools have by default.
//!
//! The README beside this file's source says where a hunter looks, and lists the policies with their sources.

mod abp;
#[cfg(feature = "alternatives")]
pub(crate) mod alternatives;
mod governor;
mod hunter;
mod victims;

pub use abp::Abp;
pub use governor::{Governor, Hunter, Move, Prospect};
pub(crate) use hunter::{Found, Hunt};
