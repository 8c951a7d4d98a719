//! std's own, with the atomics of the stall harness in tests that turn it on.

#[cfg(not(all(feature = "stepped", debug_assertions)))]
pub use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub use std::{hint::spin_loop, sync::Mutex, sync::mpsc, thread, thread_local, time::Instant};

pub use super::cell::UnsafeCell;
#[cfg(all(feature = "stepped", debug_assertions))]
pub use super::stepped::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
