//! Pools in a process that was forked: in the child none of their threads are there.

#![cfg(all(target_os = "linux", not(locksley_portable)))]

#[path = "../common/mod.rs"]
mod common;

mod children;
mod grandchildren;
mod inheritance;
mod lost;
mod places;
mod pools;
mod vanished;
mod workers;
