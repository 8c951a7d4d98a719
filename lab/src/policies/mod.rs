//! Idle policies for comparison: those that Hood's study and BWS's measured their own against, and
//! BWS's two algorithms line by line. `tests.rs` has the decisions of each.

mod exact_bws;
mod global_information;
mod memoryless;
#[cfg(test)]
mod tests;

pub use exact_bws::ExactBws;
pub use global_information::GlobalInformation;
pub use memoryless::{DELAYED_YIELD, EXACT_ABP, Memoryless, NO_YIELD, SELECTIVE_YIELD};
