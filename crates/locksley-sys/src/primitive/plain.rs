//! What no protocol depends on: counters, hints, caches, and locks of slow paths.
//!
//! These are std's under loom, shuttle and the stall harness, too. So a counter adds no step to a
//! stall test, and no interleaving to a model. A back end that simulates a machine replaces them as
//! well: a shared counter has a cost there, and a thread that waits for a lock of std would stop all
//! threads.

#[cfg(manycore)]
pub use ::manycore::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};
#[cfg(manycore)]
pub use ::manycore::sync::{Barrier, Condvar, Mutex, MutexGuard, OnceLock, RwLock};
#[cfg(not(manycore))]
pub use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};
#[cfg(not(manycore))]
pub use std::sync::{Barrier, Condvar, Mutex, MutexGuard, OnceLock, RwLock};
