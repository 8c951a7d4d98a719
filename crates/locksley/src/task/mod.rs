//! Futures as tasks: a worker polls them, and while they wait they take up no worker.
//!
//! [`spawn`] makes a task of a future and gives its handle, a [`Task`], which can be awaited by other tasks (or anywhere else where
//! futures are), joined by code that is not `async`, and cancelled. Tasks and closures run on the same workers, so a future may
//! fork ([`join`](crate::join)), and a closure may wait for a future ([`Task::join`]).
//!
//! A task waits for whatever wakes it: other tasks, channels and locks of crates that need no runtime of their own, or the
//! timers and sockets of an async runtime beside this one. There are no timers here.
//!
//! The README beside this file's source has the states and the argument.

mod cell;
mod error;
mod handle;
mod header;
mod home;
#[cfg(all(test, loom))]
mod models;
mod outcome;
mod placement;
mod shelf;
mod spawn;
mod state;
#[cfg(all(test, not(loom)))]
mod tests;
mod waker;
mod yielding;

pub use error::TaskError;
pub use handle::Task;
pub use placement::Placement;
pub(crate) use shelf::Shelves;
pub(crate) use spawn::{region_of_what_is_spawned, spawn_in};
pub use spawn::{spawn, spawn_near};
pub(crate) use waker::{followed_without_path, tells_its_paths, waker_without_path};
pub use yielding::{YieldNow, yield_now};
