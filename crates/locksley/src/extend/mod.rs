//! The interface for crates that build on the scheduler: observers, hooks, jobs. Programs do not
//! need it.
//!
//! Unstable: a minor version may change anything here.
//!
//! # Examples
//! A library that flushes what it has deferred when a worker parks:
//! ```
//! use locksley::extend::{Hooks, register};
//!
//! fn flush() -> bool {
//!     false // no task has become ready
//! }
//!
//! static HOOKS: Hooks = Hooks::new(|| (), || (), flush);
//! register(&HOOKS);
//! assert_eq!(locksley::join(|| 1, || 2), (1, 2));
//! ```
//!
//! | item | use |
//! |---|---|
//! | [`Observer`], [`Stamp`] | profilers |
//! | [`Tracer`], [`Event`] | recorders of what happens on slow paths |
//! | [`tracer`](tracer()) | libraries that name what their tasks do |
//! | [`LatestStamp`], [`stamp`], [`follow`] | objects that carry causes: channels, graphs |
//! | [`Hooks`] | libraries that defer work until a worker pauses or is idle |
//! | [`Job`], [`push`], [`push_to_last`], [`Home`], [`GroupEnd`] | tasks in memory of a library |
//! | [`broadcast`] | libraries that order their broadcasts |
//! | [`install`], [`global`] | libraries that take the place of another pool |
//! | [`generation`] | libraries with locks of their own, which a forked child must not wait for |
//! | [`spawn_task`] | bindings for other languages |
//! | [`Signal`] | code that blocks until it is woken as a future is |

mod jobs;

pub use jobs::{GroupEnd, Home, push, push_to_last};

pub use crate::block_on::Signal;
pub use crate::fork::broadcast;
pub use crate::header::{GroupHeader, Job, Kind, WorkerRef};
pub use crate::hooks::{Hooks, register};
pub use crate::observe::{LatestStamp, Observer, Stamp};
pub use crate::pool::{global::built as global, install};
pub use crate::task::spawn_task;
pub use crate::trace::{Event, PoolHandle, Queues, SleepRole, Tracer, trace_pools};
pub use crate::worker::{follow, stamp};

/// The most slots of a pool, for workers and their replacements. Slot numbers are less.
pub const MAX_SLOTS: usize = crate::sleep::MAX_WORKERS;

/// The tracer of the worker's pool, for a library that names what its tasks do.
#[must_use]
pub fn tracer(worker: &crate::Worker) -> Option<std::sync::Arc<dyn Tracer>> {
    worker.shared().sleep.tracer.clone()
}

/// True if the worker's pool has a [panic handler](crate::PoolBuilder::panic_handler), for a
/// library that must not drop a panic.
#[must_use]
pub fn has_panic_handler(worker: &crate::Worker) -> bool {
    worker.shared().config.panic_handler.is_some()
}

/// The number of forks between the process that built the first pool and this one. A lock that was
/// made in another generation may be held by a thread that this process does not have.
#[must_use]
pub fn generation() -> u32 {
    crate::os::generation()
}

/// The kernel features that the worker's pool may use.
#[must_use]
pub fn assists(worker: &crate::Worker) -> crate::os::Assists {
    worker.shared().config.assists
}
