//! What a scheduler did: its work and its critical path, counters of each worker, where their time went, and the processors that
//! were granted.
//!
//! [`Pool::metered`](crate::Pool::metered) has a [`Report`] of it all. See the README beside this file.

mod advice;
mod clock;
mod counters;
mod course;
mod furthest;
mod grant;
mod ledger;
mod open;
mod path;
mod region;
mod report;
mod running;
mod site;
mod stats;
mod stay;
mod stretch;
mod told;

pub(crate) use clock::Clock;
#[cfg(all(test, not(loom)))]
pub(crate) use clock::virtually;
pub(crate) use counters::Counters;
#[cfg(all(test, not(loom)))]
pub(crate) use course::KEPT;
#[cfg(all(test, not(loom)))]
pub(crate) use course::Part;
pub(crate) use grant::Crew;
pub use grant::{Grant, GrantBasis, GrantMeter};
pub(crate) use ledger::Ledger;
#[cfg(all(test, not(loom)))]
pub(crate) use open::KeptOn;
pub(crate) use open::is_on;
pub(crate) use path::{Meeting, Path};
pub(crate) use region::{Figures, Region};
pub use report::Report;
pub(crate) use report::Surroundings;
pub(crate) use running::Running;
pub use site::Origin;
pub(crate) use site::Site;
pub use stats::{PoolStats, WorkerStats};
pub(crate) use stay::{Footing, Length, Room, Stay};
pub use stretch::Stretch;
pub(crate) use told::Told;
