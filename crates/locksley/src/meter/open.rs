//! Whether anything is metered at all.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Read by all who signal or wait, and written where a region begins or has its report: so it has cache lines of its own.
#[repr(align(128))]
struct Open(AtomicUsize);

/// How many regions there are whose report is to come. Those that lie in another one, too: they may outlast it.
static OPEN: Open = Open(AtomicUsize::new(0));

/// Whether there is a region whose report is to come: if not, nobody asks for paths. A strand of such a region sees it, since what begins the strand came
/// after this; who is in none may see it a little late.
#[inline]
pub(crate) fn is_on() -> bool {
    // Models have no strands, but regions: what they do is the same in each of their runs.
    // Relaxed: see above.
    !cfg!(loom) && OPEN.0.load(Ordering::Relaxed) != 0
}

pub(super) fn opens() {
    OPEN.0.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn closes() {
    OPEN.0.fetch_sub(1, Ordering::Relaxed);
}

/// As long as there is one of these, the meter is on: for tests to which others, that run beside them, must not turn it on or off halfway.
#[cfg(all(test, not(loom)))]
pub(crate) struct KeptOn(());

#[cfg(all(test, not(loom)))]
impl KeptOn {
    pub(crate) fn new() -> Self {
        opens();
        Self(())
    }
}

#[cfg(all(test, not(loom)))]
impl Drop for KeptOn {
    fn drop(&mut self) {
        closes();
    }
}
