//! Governors to compare with: what Hood's study and BWS's measured their own against.
//!
//! Only the laboratory turns them on (feature `alternatives`).

mod busy_wakes;
mod delayed_yield;
mod global_information;
mod no_yield;
mod selective_yield;
mod steal_half;

pub use busy_wakes::BusyWakes;
pub use delayed_yield::DelayedYield;
pub use global_information::GlobalInformation;
pub use no_yield::NoYield;
pub use selective_yield::SelectiveYield;
pub use steal_half::StealHalf;
pub(in crate::hunt) use steal_half::take_more;
