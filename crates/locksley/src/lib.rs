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
//! [`Pool::broadcast`] has every worker run a task, [`Pool::spawn_at`] a particular one. A [`task`] may also be a future, which
//! waits without taking up a worker; what it may wait for is in [`sync`]. Code that is not `async` waits by [`block_on`], on a stack
//! of its own. A [`Cancellation`] stops what has not begun.
//! A [`computation`] of such tasks ends, or says which of them wait for each other.
//! [`kahn`] joins processes by channels to networks, whose results do not depend on the schedule.
//! [`intervals`] are tasks that edges order, and that hold locks.
//! [`places`] says which processors are near to each other; workers belong to places, and tasks may name one ([`Pool::spawn_near`]).
//! [`held`] says where a lock is held across a join.
//!
//! The sources have a README beside each protocol, and ARCHITECTURE.md at the root.

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(target_pointer_width = "16")]
compile_error!("Locksley needs words of at least 32 bits");

/// What Locksley is compared with: the parts that its forerunners' studies replaced one at a time. They are here to be
/// measured, not to be used.
#[cfg(feature = "alternatives")]
pub mod alternatives {
    pub use crate::deque::alternatives::DequeKind;
    pub use crate::hunt::alternatives::{
        BusyWakes, DelayedYield, GlobalInformation, NoYield, SelectiveYield, StealHalf,
    };
}
mod allowance;
mod blocking;
mod cancellation;
pub mod computation;
mod countdown;
mod deque;
mod drawing;
mod fiber;
mod fork;
pub mod held;
pub mod hunt;
pub mod intervals;
mod job;
pub mod kahn;
mod latch;
pub mod loops;
pub mod meter;
pub mod os;
pub mod places;
mod pool;
mod primitive;
mod sleep;
mod strand;
pub mod sync;
pub mod task;
pub mod thread;
mod unwind;
mod worker;

pub use blocking::blocking;
pub use cancellation::{Cancellation, Cancelled};
pub use fiber::block_on;
pub use fork::{
    CancellableScope, Scope, Waiting, in_place_scope, join, join_near, scope, scope_until, spawn,
    spawn_fifo, spawn_near,
};
pub use pool::{Affinity, BuildError, Pool, PoolBuilder, SizeError, Unplaced, WorkerThread};
pub use worker::Worker;
