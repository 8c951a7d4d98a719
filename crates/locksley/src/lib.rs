//! Locksley: work stealing for machines that are shared.
//!
//! A parallel program seldom has the machine to itself. Locksley runs fork-join programs on a pool of workers that steal
//! tasks from each other, and keeps its efficiency when there are more workers than processors, when other programs
//! come and go, and when the kernel suspends a worker at the worst moment.
//!
//! Use it like this:
//! ```
//! fn sort<T: Ord + Send>(items: &mut [T]) {
//!     if items.len() <= 1000 {
//!         return items.sort();
//!     }
//!     let middle = items.len() / 2;
//!     let (left, pivot, right) = items.select_nth_unstable(middle);
//!     let _ = pivot;
//!     locksley::join(|| sort(left), || sort(right));
//! }
//!
//! let mut items: Vec<u32> = (0..5000).map(|n| n * 7919 % 5000).collect();
//! sort(&mut items);
//! assert!(items.is_sorted());
//! ```
//!
//! [`join`], [`scope`] and [`spawn`] use the calling worker's pool or a global one; a [`Pool`] of your own is made with
//! [`Pool::builder`]; a task that is given its [`Worker`] may call the same operations on it. [`loops`] divide themselves.
//! [`Pool::broadcast`] has every worker run a task. A [`task`] may also be a future, which
//! waits without taking up a worker. Code that is not `async` waits by [`block_on`]: a replacement
//! worker takes its slot meanwhile. A [`Cancellation`] stops what has not begun.
//! [`places`] says which processors are near to each other; workers belong to places, and tasks may
//! name one ([`Spawn::Near`]). [`extend`] is for crates that build on the scheduler.

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
mod guide;

#[cfg(target_pointer_width = "16")]
compile_error!("Locksley needs words of at least 32 bits");

/// The deques that Locksley's own is compared with: those that Hood's study replaced one at a time.
/// They are here to be measured, not to be used.
#[cfg(feature = "alternatives")]
pub mod alternatives {
    pub use crate::deque::alternatives::DequeKind;
}
mod block_on;
mod blocking;
mod cancellation;
mod deque;
pub mod extend;
mod fork;
mod futures;
mod hooks;
pub mod idle;
pub mod loops;
mod observe;
pub mod os;
pub mod places;
mod pool;
mod scheduler;
mod sleep;
pub mod stats;
pub mod task;

use locksley_sys::{countdown, primitive, unwind};

pub use block_on::block_on;
pub use blocking::blocking;
pub use cancellation::{Cancellation, Cancelled};
pub use fork::{Scope, Spawn, in_place_scope, join, scope, scope_until, spawn, spawn_with};
pub use pool::{BuildError, Pool, PoolBuilder, SizeError, WorkerThread};
pub use scheduler::Worker;
pub use scheduler::config::Affinity;
pub use scheduler::division::Unplaced;
