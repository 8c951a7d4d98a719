//! Kahn process networks: sequential processes that are connected by bounded channels.
//!
//! The result of such a [`Network`] does not depend on the schedule. A process is an asynchronous
//! closure, or an ordinary one that blocks; a channel leads from one process to one other. The
//! processes run as tasks on a [`Pool`](locksley::Pool).
//!
//! The README beside this file's source has the protocols and their argument.

mod blocking;
mod channel;
mod deadlock;
mod deferred;
mod dot;
mod error;
mod graph;
#[cfg(all(test, loom))]
mod models;
mod network;
mod ports;
mod process;
mod report;
mod running;
mod single_owner;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;
mod wait;

pub use blocking::Over;
pub use channel::{Receiver, Sender};
pub use error::{NetworkError, Waiting};
pub use network::Network;
pub use ports::{Inlet, Outlet, Ports};
pub use process::Product;
pub use report::{ChannelReport, NetworkReport, ProcessReport};
pub use running::Running;
