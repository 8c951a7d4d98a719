//! What the protocols are made of: atomics, fences and cells, from std, from loom, from shuttle, or
//! from the stall harness; and hazard pointers.
//!
//! Every lock-free protocol of Locksley takes its atomics from here. So the code which ships is the
//! code which the model checker runs (`--cfg loom`), and which the stall harness stops at each of
//! its steps (feature `stepped` with debug assertions: unit tests). Pools take their threads,
//! channels and clock from here, too, and run as a whole under schedules that shuttle chooses
//! (`--cfg shuttle`).

/// A `const fn`, but for loom: its atomics are not made before a program runs.
#[macro_export]
macro_rules! const_unless_loom {
    (
        $(#[$meta:meta])*
        $visibility:vis fn $name:ident($($arguments:tt)*) -> $result:ty $body:block
    ) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $visibility const fn $name($($arguments)*) -> $result $body

        #[cfg(loom)]
        $(#[$meta])*
        $visibility fn $name($($arguments)*) -> $result $body
    };
}
pub use crate::const_unless_loom;

#[cfg(not(loom))]
mod cell;
pub mod hazard;
mod life;
mod padded;
#[cfg(shuttle)]
#[allow(missing_docs, reason = "as in std")]
mod shuttle;
#[cfg(all(feature = "stepped", debug_assertions, not(any(loom, shuttle))))]
#[allow(missing_docs, reason = "as in std")]
pub mod stepped;

pub use life::Life;
pub use padded::CachePadded;
pub use std::sync::atomic::Ordering;

#[cfg(shuttle)]
pub use self::shuttle::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Instant, Mutex, fence,
    mpsc, spin_loop, thread, thread_local,
};
#[cfg(not(loom))]
pub use cell::UnsafeCell;
#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence},
};
#[cfg(not(any(all(feature = "stepped", debug_assertions), loom, shuttle)))]
pub use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
#[cfg(not(any(loom, shuttle)))]
pub use std::{hint::spin_loop, sync::Mutex};
#[cfg(not(shuttle))]
pub use std::{sync::mpsc, thread, thread_local, time::Instant};
#[cfg(all(feature = "stepped", debug_assertions, not(any(loom, shuttle))))]
pub use stepped::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
