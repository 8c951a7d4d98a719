//! Semaphore, mutex, condition variable, barrier, once cell and join counter for tasks of any
//! executor.
//!
//! All types here are futures that know no runtime. They wait in the tasks of `locksley`, of tokio
//! or of any other executor, and in a thread that polls them. A task that waits occupies no thread.
//!
//! Use them where threads may be suspended at any moment, because a machine has fewer processors
//! than threads:
//!
//! - **Fair.** Waiters are served first come, first served. A wait stands in line from its first
//!   poll.
//! - **Lock-free.** A thread that the kernel suspends in the middle of an operation keeps back what
//!   it has in hand, and nothing else.
//! - **Cancellable.** A wait may be dropped at any time. What it had been given goes to the next.
//!
//! Fairness has its price: a lock goes to the task that waited longest, and not to one that runs.
//! Where no task waits for anything while it has the lock, std's mutex costs less.
//!
//! | type | waits for | like |
//! |---|---|---|
//! | [`Semaphore`] | permits | Hood's semaphore |
//! | [`Mutex`] | the lock | std's, across `await`, without poisoning |
//! | [`Condvar`] | a notification | std's |
//! | [`Barrier`] | so many others | std's |
//! | [`OnceCell`] | a value that one of the waiters makes | std's `OnceLock` |
//! | [`JoinCounter`] | so many signals, once | Hood's join counter |
//!
//! General channels come from runtime-agnostic crates such as `async-channel`, `flume`, and
//! `tokio`'s `sync`.
//!
//! # Examples
//! Two threads at most are in the kitchen at a time. Any `block_on` will do; these examples use the
//! one of the crate `pollster`.
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! use locksley_sync::Semaphore;
//!
//! static KITCHEN: Semaphore = Semaphore::new(2);
//! let cooks = AtomicUsize::new(0);
//! std::thread::scope(|scope| {
//!     for _ in 0..5 {
//!         scope.spawn(|| {
//!             pollster::block_on(async {
//!                 let _place = KITCHEN.acquire().await?;
//!                 assert!(cooks.fetch_add(1, Ordering::Relaxed) < 2);
//!                 cooks.fetch_sub(1, Ordering::Relaxed);
//!                 Ok::<(), locksley_sync::Closed>(())
//!             })
//!         });
//!     }
//! });
//! assert_eq!(KITCHEN.available_permits(), 2);
//! ```
//!
//! `src/README.md` has the protocols.

mod barrier;
mod condvar;
mod crowd;
mod join_counter;
mod line;
#[cfg(all(test, loom))]
mod models;
mod mutex;
mod once_cell;
mod semaphore;
#[cfg(all(test, not(loom)))]
mod tests;
mod word;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::Condvar;
pub use join_counter::JoinCounter;
pub use mutex::{Lock, Mutex, MutexGuard};
pub use once_cell::{OnceCell, SetError};
pub use semaphore::{Acquire, Closed, Permit, Semaphore, TryAcquireError};
