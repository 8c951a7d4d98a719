//! Idle policies for comparison: those that Hood's study and BWS's measured their own against.

mod delayed_yield;
mod global_information;
mod no_yield;
mod selective_yield;
#[cfg(test)]
mod tests;

pub use delayed_yield::DelayedYield;
pub use global_information::GlobalInformation;
pub use no_yield::NoYield;
pub use selective_yield::SelectiveYield;
