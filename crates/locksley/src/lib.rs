//! Locksley is a work-stealing fork-join runtime for machines that are shared.
//!
//! A pool of worker threads runs tasks: closures and futures. A worker without tasks steals tasks
//! from the others. The pool keeps its efficiency when there are more workers than processors, when
//! other programs run beside it, and when the kernel preempts a worker at any instruction.
//!
//! Use it for computations that divide into many small tasks: divide and conquer, loops, and graphs
//! of futures. It has no timers and no I/O; an async runtime beside it provides these.
//!
//! # Examples
//! Both halves of an array are sorted in parallel:
//! ```
//! fn sort<T: Ord + Send>(items: &mut [T]) {
//!     if items.len() <= 1000 {
//!         return items.sort();
//!     }
//!     let middle = items.len() / 2;
//!     let (left, _median, right) = items.select_nth_unstable(middle);
//!     locksley::join(|| sort(left), || sort(right));
//! }
//!
//! let mut items: Vec<u32> = (0..5000).map(|n| n * 7919 % 5000).collect();
//! sort(&mut items);
//! assert!(items.is_sorted());
//! ```
//!
//! # Map
//!
//! | to | use |
//! |---|---|
//! | run two closures in parallel | [`join`] |
//! | run any number of closures that may borrow, and wait for them | [`scope`] |
//! | start a closure without waiting for it | [`spawn`], [`Spawn`] for its options |
//! | run a loop in parallel | [`loops`] |
//! | run a future as a task; no worker is occupied while it waits | [`task`] |
//! | wait for a future in code that is not `async` | [`block_on`] |
//! | call code that blocks its thread | [`blocking`] |
//! | cancel a scope or a loop: nothing more of it begins | [`Cancellation`], [`scope_until`] |
//! | cancel a future | [`task::JoinHandle::abort`], [`Cancellation::run_until_cancelled`] |
//! | run a closure as a task with a handle | [`Pool::spawn_task`] |
//! | end a pool, and wait for all its tasks | [`Pool::shutdown`] |
//! | choose the number of workers, their processors or their policy | [`Pool`], [`PoolBuilder`] |
//! | run a task on every worker, or on one of them | [`Pool::broadcast`], [`Spawn::At`] |
//! | send tasks to workers that share a cache or a NUMA node | [`places`], [`Spawn::Near`] |
//! | choose an idle policy: when workers without tasks spin, yield and sleep | [`idle`] |
//! | read counters and times | [`stats`] |
//! | query processors and quotas, choose which kernel features a pool uses | [`os`] |
//! | build a library on the scheduler, as `locksley-kahn` does | [`extend`] |
//!
//! Free functions use the pool of the calling worker, or else the [global pool](Pool::global). They
//! panic if they need the global pool and it cannot be built, for example because the environment
//! variable `LOCKSLEY_WORKERS` is not a number. This variable fixes the number of workers of every
//! pool whose builder does not set one. A task that gets its [`Worker`] as an argument can call
//! [`join`](Worker::join) on it, which saves a look-up.

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

#[cfg(doctest)]
mod guide;

// Unit tests include a file of the integration tests.
#[cfg(all(test, not(loom)))]
extern crate self as locksley;

#[cfg(target_pointer_width = "16")]
compile_error!("Locksley needs words of at least 32 bits");

mod block_on;
mod blocking;
mod cancellation;
mod deque;
pub mod extend;
mod fork;
mod futures;
mod header;
mod hooks;
pub mod idle;
mod job;
mod limits;
pub mod loops;
mod machine;
mod numbers;
mod observe;
pub mod os;
mod periodic;
pub mod places;
mod pool;
mod search;
mod share;
mod shared;
mod sleep;
pub mod stats;
pub mod task;
mod trace;
mod tuning;
mod worker;

use locksley_sys::{countdown, primitive, unwind};

pub use block_on::block_on;
pub use blocking::blocking;
pub use cancellation::{Cancellation, Cancelled, OnCancel};
pub use fork::join::join;
pub use fork::scope::{Scope, in_place_scope, scope, scope_until};
pub use fork::spawn::{Spawn, spawn, spawn_with};
pub use pool::{Pool, builder::PoolBuilder, error::BuildError};
pub use pool::{shutdown::Unfinished, start::WorkerThread};
pub use shared::config::Affinity;
pub use worker::Worker;
