//! A virtual multiprocessor: its atomics, locks, threads and clock have costs in virtual time.

pub use ::manycore::hint::spin_loop;
pub use ::manycore::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub use ::manycore::sync::{Mutex, mpsc};
pub use ::manycore::time::Instant;
pub use ::manycore::{thread, thread_local};

pub use super::cell::UnsafeCell;
