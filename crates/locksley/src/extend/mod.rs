//! What crates that build on the scheduler need and programs do not: observers, hooks, jobs.
//!
//! Unstable: a minor version may change anything here.
//!
//! | what | for |
//! |---|---|
//! | [`Observer`], [`Stamp`] | profilers and timelines |
//! | [`LatestStamp`], [`stamp`], [`follow`] | libraries whose objects carry causes: channels, graphs |
//! | [`Hooks`] | libraries that defer work until a worker pauses or is idle |
//! | [`Job`], [`Home`], [`WorkerExt`], [`GroupEnd`] | libraries whose tasks lie in their own memory |
//! | [`Signal`] | code that blocks until it is woken as a future is |

mod jobs;

pub use jobs::{GroupEnd, Head, Home, Job, Kind, WorkerExt};

pub use crate::block_on::Signal;
pub use crate::hooks::{Hooks, register};
pub use crate::observe::{LatestStamp, Observer, Stamp};
pub use crate::scheduler::observed::{follow, stamp};

/// Slots of a pool are less than this: as many as there may be workers and replacements.
pub const MAX_SLOTS: usize = crate::sleep::MAX_WORKERS;

/// The help of the operating system that the worker's pool may use.
#[must_use]
pub fn assists(worker: &crate::Worker) -> crate::os::Assists {
    worker.shared().assists()
}
