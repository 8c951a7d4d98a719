//! What tasks wait for: permits, locks, changes, each other, a value, signals.
//!
//! These are futures that know no runtime: they wait in Locksley's tasks, and in any other executor's. A task that waits
//! takes up no worker.
//!
//! All are first come, first served, and none is made of locks: a thread that the kernel suspends in the middle of an
//! operation keeps back what it has in hand, and nothing else. All may be dropped while they wait, and what they had been
//! given already goes to the next one. Each type says what that means for it. A wait stands in line from when it is first
//! polled; until then it does nothing.
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
//! General channels come from runtime-agnostic crates such as `async-channel`, `flume`, and `tokio`'s `sync`.
//!
//! Code that is not `async` waits by [`block_on`](crate::block_on), on a worker and on any other thread; these examples, for which any
//! will do, use the one of the crate `pollster`.

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
