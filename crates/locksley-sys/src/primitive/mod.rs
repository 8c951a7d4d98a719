//! What pools are made of: atomics, locks, threads and the clock, from std, from a model checker, or
//! from the stall harness; and hazard pointers.
//!
//! Code that runs while a pool works takes these from here, and none from std. So the code which
//! ships is the code which the model checker runs. Each back end is a file with the same names:
//!
//! | file | chosen by | what |
//! |---|---|---|
//! | `standard.rs` | | std's; unit tests hold a thread at each step (`stepped.rs`) |
//! | `loom.rs` | `--cfg loom` | models of the protocols |
//! | `shuttle.rs` | `--cfg shuttle` | whole pools, under schedules that shuttle chooses |
//!
//! There are two sets of atomics and locks:
//!
//! - Those at this level are what protocols are made of. Each access is a step of the stall harness,
//!   and of a model.
//! - Those in [`plain`] are for what no protocol depends on. Back ends that check protocols leave
//!   them out, so that models stay small.
//!
//! Threads, thread-locals, channels and the clock are at this level only. A back end may run all
//! threads on one thread of the system, where a thread that waits for a lock of std stops all
//! others. So std's own remain only in tests, and where no thread waits: a
//! [`OnceLock`](std::sync::OnceLock) in a static whose initializer uses nothing of this module or of
//! [`os`](crate::os). `lab/tests/seam.rs` finds others.

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
#[cfg(loom)]
mod loom;
mod padded;
pub mod plain;
#[cfg(shuttle)]
#[allow(missing_docs, reason = "as in std")]
mod shuttle;
#[cfg(not(any(loom, shuttle)))]
mod standard;
#[cfg(all(feature = "stepped", debug_assertions, not(any(loom, shuttle))))]
#[allow(missing_docs, reason = "as in std")]
pub mod stepped;

#[cfg(loom)]
use self::loom as backend;
#[cfg(shuttle)]
use self::shuttle as backend;
#[cfg(not(any(loom, shuttle)))]
use self::standard as backend;

pub use backend::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Instant, Mutex,
    UnsafeCell, fence, mpsc, spin_loop, thread, thread_local,
};
pub use life::Life;
pub use padded::CachePadded;
pub use std::sync::atomic::Ordering;
