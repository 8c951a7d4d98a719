//! What the protocols are made of: atomics, fences and cells, from std, from loom, or from the stall harness; and hazard
//! pointers.
//!
//! Every lock-free protocol of this crate takes its atomics from here, so that the code which ships is the code which
//! the model checker runs (`--cfg loom`) and which the stall harness stops at each of its steps (unit tests).

/// A `const fn`, but for loom, whose atomics are not made before a program runs.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident($($arguments:tt)*) -> $result:ty $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $visibility const fn $name($($arguments)*) -> $result $body

        #[cfg(loom)]
        $(#[$meta])*
        $visibility fn $name($($arguments)*) -> $result $body
    };
}
pub(crate) use const_unless_loom;

#[cfg(not(loom))]
mod cell;
pub(crate) mod hazard;
mod padded;
#[cfg(all(test, not(loom)))]
pub(crate) mod stepped;

pub(crate) use padded::CachePadded;
pub(crate) use std::sync::atomic::Ordering;

#[cfg(not(loom))]
pub(crate) use cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
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
