//! What the protocols are made of: atomics and fences, from std, from loom, or from the stall harness.
//!
//! Every lock-free protocol of this crate takes its atomics from here, so that the code which ships is the code which
//! the model checker runs (`--cfg loom`) and which the stall harness stops at each of its steps (unit tests).

mod padded;
#[cfg(all(test, not(loom)))]
pub(crate) mod stepped;

pub(crate) use padded::CachePadded;
pub(crate) use std::sync::atomic::Ordering;

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence},
};
#[cfg(not(loom))]
pub(crate) use std::hint::spin_loop;
#[cfg(all(not(test), not(loom)))]
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
#[cfg(all(test, not(loom)))]
pub(crate) use stepped::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
