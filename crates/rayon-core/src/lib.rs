//! Locksley in the place of `rayon-core`: the same interface, run by Locksley's workers.
//!
//! Programs do not name this package. They use rayon, and say in their `Cargo.toml` where its core
//! comes from:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "../locksley/crates/rayon-core" }
//! ```
//!
//! The README beside `Cargo.toml` says what that changes. Each item here does what rayon documents
//! for the item of the same name; what is said here is in short, and says where Locksley goes its
//! own way.

/// The examples of the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rayon.md")]
struct Guide;

mod broadcast;
mod builder;
mod configuration;
mod current;
mod environment;
mod error;
mod global;
mod join;
mod pool;
mod scope;
mod spawn;
mod thread;
#[cfg(all(feature = "trace", target_os = "linux"))]
mod trace;
mod yielding;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use current::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads,
};
pub use error::ThreadPoolBuildError;
pub use join::{FnContext, join, join_context};
pub use pool::ThreadPool;
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread::ThreadBuilder;
pub use yielding::{Yield, yield_local, yield_now};
