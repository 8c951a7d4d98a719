//! Idle policies for comparison: those that Hood's study and BWS's measured their own against, and
//! BWS's two algorithms line by line. `tests.rs` has the decisions of each.

mod delayed_yield;
mod exact_abp;
mod exact_bws;
mod global_information;
mod memoryless;
mod no_yield;
mod selective_yield;
#[cfg(test)]
mod tests;

pub use delayed_yield::DELAYED_YIELD;
pub use exact_abp::EXACT_ABP;
pub use exact_bws::ExactBws;
pub use global_information::GlobalInformation;
pub use memoryless::Memoryless;
pub use no_yield::NO_YIELD;
pub use selective_yield::SELECTIVE_YIELD;
