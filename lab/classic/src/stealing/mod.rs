//! What workers do without a task: one file for each of the papers' variants.

mod abp;
mod busy_wakes;
mod bws;
mod delayed;
mod global_information;
mod hood;
mod lassi;
mod naive;
mod nornir;
mod selective;
#[cfg(test)]
mod tests;

pub use abp::Abp;
pub use busy_wakes::BusyWakes;
pub use bws::Bws;
pub use delayed::Delayed;
pub use global_information::GlobalInformation;
pub use hood::Hood;
pub use lassi::Lassi;
pub use naive::Naive;
pub use nornir::Nornir;
pub use selective::Selective;

/// `SleepThreshold` in the experiments of BWS (section 5.1).
pub const SLEEP_THRESHOLD: u64 = 64;
