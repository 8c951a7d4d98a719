//! What loom models: atomics, cells and locks. It has no channels and no clock: those are std's, and
//! a model uses neither them nor [`thread`].

pub use ::loom::cell::UnsafeCell;
pub use ::loom::hint::spin_loop;
pub use ::loom::sync::Mutex;
pub use ::loom::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub use std::{sync::mpsc, thread, thread_local, time::Instant};
