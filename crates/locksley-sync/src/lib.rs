//! Semaphore, mutex, condition variable, barrier, once cell and join counter for tasks of any
//! executor.
//!
//! Use them where tasks wait for each other, and where the kernel may suspend a thread at any
//! moment because there are more threads than processors. All waits are futures that know no
//! runtime: they run in tasks of `locksley`, of tokio or of any other executor, and in `block_on`.
//! A task that waits occupies no thread.
//!
//! - **Fair.** Waits are served in the order of their first polls.
//! - **Lock-free.** A thread that the kernel suspends in an operation delays no other, except by
//!   what it holds.
//! - **Cancellable.** A wait may be dropped at any time. What it was granted goes to the next.
//!
//! Fairness has a cost: a lock goes to the task that waited longest, and not to one that runs.
//! Where no task waits while it holds the lock, std's mutex costs less.
//!
//! | type | waits for | comparable to |
//! |---|---|---|
//! | [`Semaphore`] | permits | tokio's, and Hood's |
//! | [`Mutex`] | the lock | tokio's |
//! | [`Condvar`] | a notification | std's |
//! | [`Barrier`] | other tasks | std's, tokio's |
//! | [`OnceCell`] | a value that one of the tasks makes | tokio's |
//! | [`JoinCounter`] | a fixed number of signals | Hood's join counter |
//!
//! There are no channels here: crates such as `async-channel` and `flume`, and `tokio::sync`, have
//! channels for any executor.
//!
//! # Examples
//! At most two threads download at a time. These examples use `block_on` of the crate `pollster`;
//! that of any executor will do.
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! use locksley_sync::Semaphore;
//!
//! static DOWNLOADS: Semaphore = Semaphore::new(2);
//! let running = AtomicUsize::new(0);
//! std::thread::scope(|scope| {
//!     for _ in 0..5 {
//!         scope.spawn(|| {
//!             pollster::block_on(async {
//!                 let _permit = DOWNLOADS.acquire().await?;
//!                 assert!(running.fetch_add(1, Ordering::Relaxed) < 2);
//!                 running.fetch_sub(1, Ordering::Relaxed);
//!                 Ok::<(), locksley_sync::Closed>(())
//!             })
//!         });
//!     }
//! });
//! assert_eq!(DOWNLOADS.available_permits(), 2);
//! ```
//!
//! `src/README.md` describes the protocols.

mod barrier;
mod condvar;
mod join_counter;
#[cfg(all(test, loom))]
mod models;
mod mutex;
mod once_cell;
mod semaphore;
#[cfg(all(test, not(loom)))]
mod tests;
mod wait_queue;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::Condvar;
pub use join_counter::JoinCounter;
pub use mutex::{Mutex, MutexGuard};
pub use once_cell::{OnceCell, SetError};
pub use semaphore::{Acquire, Closed, Permit, Semaphore, TryAcquireError};
