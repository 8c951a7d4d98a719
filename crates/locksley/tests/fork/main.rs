//! Pools in a forked child, which has none of their threads. A pool that was idle is built again; a
//! task of a pool that needs another thread there ends the child with one message.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

#[path = "../common/mod.rs"]
mod common;

mod children;
mod lost;
mod places;
mod pools;
mod tasks;
