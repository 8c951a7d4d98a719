//! Kahn process networks: sequential processes, joined by channels, whose result does not depend on the schedule.
//!
//! A [`Network`] is made of processes, which are asynchronous closures or ordinary ones on stacks of their own, and channels between
//! them, each from one process to one other. It runs as tasks on a [`Pool`](crate::Pool): where a process goes that a message has made ready is the pool's
//! [`Placement`](crate::task::Placement).
//!
//! The README beside this file's source has the states and the argument.

mod channel;
mod cycle;
mod doubts;
mod drawing;
mod error;
mod foreign;
mod graph;
#[cfg(all(test, loom))]
mod models;
mod network;
mod payer;
mod ports;
mod process;
mod report;
mod solitude;
mod stack;
#[cfg(all(test, not(loom)))]
mod tests;
mod wait;

pub use channel::{Receiver, Recv, Send, Sender};
pub(crate) use doubts::Doubts;
pub use error::{Awaited, Cycle, NetworkError, Waiting};
pub(crate) use foreign::{ChannelWait, ForeignWait};
pub use network::{Network, Product, Running};
pub(crate) use payer::Payer;
pub use ports::{Declared, Inlet, Outlet, Owner, Ports};
pub use report::{ChannelReport, ProcessReport, Report};
pub use stack::Over;
