//! Whether this process was forked since (`man 3 pthread_atfork`).
//!
//! The C library calls a handler in the child, on its only thread. Beside it, a page that the
//! kernel empties in the child (`madvise`, `MADV_WIPEONFORK`) was considered: reading it costs the
//! same load, and it tells of children that were made by the bare system call, too, but it cannot
//! have anything done there; and to ask for the process's number is a system call each time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static IN_THE_CHILD: OnceLock<fn()> = OnceLock::new();

/// The number of forks since forks were watched for, from the process that did so down to this one.
#[inline]
pub fn generation() -> u32 {
    // Relaxed: it changes while there is but one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// From now on forks are counted, and `in_the_child` is called there before anything else. It must
/// not allocate or lock. The first call of this counts.
pub fn watch_for_forks(in_the_child: fn()) {
    IN_THE_CHILD.get_or_init(|| {
        // SAFETY: a handler that lives as long as the program; it allocates nothing and takes no
        // lock. Where it cannot be registered, for want of memory, forks are not noticed.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(after_a_fork)) };
        in_the_child
    });
}

extern "C" fn after_a_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    if let Some(in_the_child) = IN_THE_CHILD.get() {
        in_the_child();
    }
}
