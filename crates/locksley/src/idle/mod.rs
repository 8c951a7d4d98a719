//! What a worker without work does: a [`Governor`] decides, and [`Balanced`] is the one that pools have by default.
//!
//! The README beside this file's source says where a hunter looks, and lists the policies with their sources.

mod abp;
mod balanced;
mod bws;
mod governor;
mod neighbours;
mod prospect;
mod wishes;

pub use crate::sleep::Limit;
pub use abp::Abp;
pub use balanced::Balanced;
pub use bws::Bws;
pub use governor::{End, Governor, Hunter, Move};
pub(crate) use prospect::Peers;
pub use prospect::{Activity, Prospect};
