//! Kahn process networks: sequential processes that are connected by bounded channels.
//!
//! Use them for pipelines and graphs of stages through which streams of messages flow. If processes
//! share nothing but channels, the result of a [`Network`] does not depend on the schedule: it is
//! the same in every run, for any number of workers.
//!
//! - **Processes.** A process is an asynchronous closure, or an ordinary one that blocks its thread
//!   ([`Network::process_blocking`]). Processes run as tasks on a [`Pool`](locksley::Pool).
//! - **Channels.** A channel has one sending and one receiving process; both may be the same. It
//!   holds as many messages as its capacity. A full channel makes its sender wait.
//! - **Bounds.** If processes wait for each other in a cycle, and one of them waits for room, then
//!   the smallest full channel of the cycle grows. [`Network::limit`] sets the largest capacity; by
//!   default it is 65,536 messages.
//! - **Ends.** `None` means that a stream is complete. A failure is never a normal end: if a
//!   process fails or the network is cancelled, receivers wait until they are dropped, or get the
//!   error [`Over`]. See [the end of a stream](Sender#the-end-of-a-stream).
//! - **Deadlocks.** Two kinds of cycles are errors: those in which all wait for messages, and those
//!   whose smallest full channel is at the limit. [`NetworkError`] says which process waits for
//!   which channel.
//!
//! # Examples
//! ```
//! use locksley::Pool;
//! use locksley_kahn::Network;
//!
//! let mut network = Network::new();
//! let (to_square, numbers) = network.channel("numbers", 8);
//! let (to_sum, squares) = network.channel("squares", 8);
//! network.process("count", to_square, async |mut output| {
//!     for n in 0..100_u64 {
//!         output.send(n).await;
//!     }
//! });
//! network.process("square", (numbers, to_sum), async |(mut input, mut output)| {
//!     while let Some(n) = input.recv().await {
//!         output.send(n * n).await;
//!     }
//! });
//! let sum = network.process("sum", squares, async |mut input| {
//!     let mut sum = 0;
//!     while let Some(n) = input.recv().await {
//!         sum += n;
//!     }
//!     sum
//! });
//! let report = network.run(&Pool::new(2)?)?;
//! assert_eq!(sum.take(), Some(328_350));
//! assert_eq!(report.channels[1].received, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocking;
mod channel;
mod deadlock;
mod deferred;
mod dot;
mod ends;
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
mod task;
#[cfg(all(test, debug_assertions, not(loom)))]
mod tests;
mod wait;

pub use blocking::Over;
pub use ends::{receiver::Receiver, sender::Sender};
pub use error::{NetworkError, Waiting};
pub use network::Network;
pub use ports::{Inlet, Outlet, Ports};
pub use report::{ChannelReport, NetworkReport, ProcessReport};
pub use running::{CancelHandle, Running};
pub use task::Product;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/networks.md")]
struct Guide;
