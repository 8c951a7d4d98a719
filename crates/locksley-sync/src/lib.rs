//! Semaphore, mutex, condition variable, barrier and once cell for tasks of any executor.
//!
//! Use them where tasks wait for each other, and where the kernel may suspend a thread at any
//! moment because there are more threads than processors. All waits are futures that know no
//! runtime: they run in tasks of `locksley`, of tokio or of any other executor, and in `block_on`.
//! A task that waits occupies no thread.
//!
//! - **Fair.** Tasks are served first in, first out, in the order in which they first polled.
//! - **Lock-free.** If the kernel suspends a thread inside an operation, the operations of other
//!   threads still complete. Tasks that wait for a lock or permit do wait for
//!   its holder.
//! - **Cancel-safe.** A waiting future may be dropped at any time. If it was already given a lock
//!   or a permit, the next waiting task gets it.
//!
//! Fairness has a cost: a released lock goes to the task that has waited longest, even if another
//! task is running and could take it at once. If no task awaits anything while it holds the lock,
//! use std's mutex: it costs less.
//!
//! | type | waits for | comparable to |
//! |---|---|---|
//! | [`Semaphore`] | permits | tokio's, and Hood's |
//! | [`Mutex`] | the lock | tokio's |
//! | [`Condvar`] | a notification | std's |
//! | [`Barrier`] | other tasks | std's, tokio's |
//! | [`OnceCell`] | a value that one of the tasks initializes | tokio's |
//!
//! A task that waits for `n` signals acquires `n` permits of a semaphore that begins with none (a
//! countdown latch, Hood's join counter).
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
//! The same on a pool of Locksley. Futures that wait occupy no worker. A closure waits by
//! `locksley::block_on`: another thread works under the worker's index meanwhile.
//! ```
//! use locksley::Pool;
//! use locksley_sync::{Mutex, Semaphore};
//!
//! let (downloads, log) = (Semaphore::new(2), Mutex::new(Vec::new()));
//! Pool::new(4)?.install(|_| {
//!     locksley::scope(|scope| {
//!         for page in 0..5 {
//!             let (downloads, log) = (&downloads, &log);
//!             scope.spawn_future(async move {
//!                 let _permit = downloads.acquire().await.expect("not closed");
//!                 log.lock().await.push(page);
//!             });
//!         }
//!         scope.spawn(|_| {
//!             let _permit = locksley::block_on(downloads.acquire()).expect("not closed");
//!         });
//!     });
//! });
//! let mut pages = log.into_inner();
//! pages.sort();
//! assert_eq!(pages, [0, 1, 2, 3, 4]);
//! # Ok::<(), locksley::BuildError>(())
//! ```

mod barrier;
mod condvar;
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
pub use mutex::{Mutex, MutexGuard};
pub use once_cell::{OnceCell, SetError};
pub use semaphore::error::{Closed, TryAcquireError};
pub use semaphore::{Semaphore, acquire::Acquire, permit::Permit};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
