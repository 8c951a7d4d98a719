//! The C interface of [Locksley](locksley): `include/locksley.h` and a library.
//!
//! Programs in Rust use the crate `locksley`. The script `install` builds the library and installs
//! it with its header and a file for pkg-config; the README has an example.
//!
//! Nothing unwinds through the interface. A panic of the library becomes
//! [`LOCKSLEY_ERROR_PANIC`](locksley_error::LOCKSLEY_ERROR_PANIC). An exception that leaves a
//! callback ends the process: callbacks are `extern "C-unwind"`, so that this is defined.
//!
//! `include/locksley.h` is made from the comments of this crate: see `tests/header.rs`.

#![allow(non_camel_case_types, reason = "the names of C")]

mod callback;
mod cancellation;
mod error;
mod fork;
mod pool;
mod scope;
mod task;
mod version;

pub use callback::{locksley_fn, locksley_range_fn};
pub use cancellation::{
    locksley_cancellation, locksley_cancellation_cancel, locksley_cancellation_create,
    locksley_cancellation_destroy, locksley_cancellation_is_cancelled,
};
pub use error::{locksley_error, locksley_strerror};
pub use fork::{locksley_blocking, locksley_for, locksley_for_until, locksley_join};
pub use pool::{
    locksley_pool, locksley_pool_create, locksley_pool_create_with, locksley_pool_destroy,
    locksley_pool_indices, locksley_pool_options, locksley_pool_workers, locksley_worker_index,
};
pub use scope::{
    locksley_scope, locksley_scope_fn, locksley_scope_run, locksley_scope_run_until,
    locksley_scope_spawn,
};
pub use task::{locksley_spawn, locksley_task, locksley_task_detach, locksley_task_join};
pub use version::{
    LOCKSLEY_VERSION_MAJOR, LOCKSLEY_VERSION_MINOR, LOCKSLEY_VERSION_PATCH, locksley_version,
};
