//! Pools in a forked child, which has none of their threads. An idle pool is built again. A task
//! that needs another thread ends the child with a message.

#![cfg(all(target_os = "linux", not(locksley_portable)))]
#![allow(clippy::incompatible_msrv, reason = "tests may need a newer Rust than the library")]

#[path = "../common/mod.rs"]
mod common;

mod children;
mod lost;
mod places;
mod pools;
mod tasks;
