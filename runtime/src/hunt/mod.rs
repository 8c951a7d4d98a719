//! What a worker without work does.
//!
//! [`Hunt`] knows where work is found and carries out what the governor says; a [`Governor`] decides; `sleep/` blocks.
//! The README beside this file lists the policies and where they come from.

mod abp;
mod governor;
mod hunter;
mod victims;

pub use abp::Abp;
pub use governor::{Governor, Hunter, Move, Prospect};
pub(crate) use hunter::Hunt;
