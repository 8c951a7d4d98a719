//! Where one worker blocks until somebody rings.

use std::time::Duration;

use crate::os::Futex;
use crate::primitive::Ordering;

const SILENT: u32 = 0;
const RUNG: u32 = 1;

/// A bell: ringing it ends the present [`Parker::park`] of its worker, or else the next.
#[derive(Debug)]
pub(super) struct Parker(Futex);

impl Parker {
    pub(super) fn new() -> Self {
        Self(Futex::new(SILENT))
    }

    /// Forgets a ring that came when nobody waited for it. The worker itself calls this, before it announces that it
    /// sleeps; so a ring that follows the announcement is kept.
    pub(super) fn forget(&self) {
        self.0.word().store(SILENT, Ordering::Relaxed);
    }

    /// Blocks the calling worker until the bell is rung, or for no reason at all.
    pub(super) fn park(&self) {
        // Acquire pairs with the release in `ring`.
        if self.0.word().load(Ordering::Acquire) == SILENT {
            self.0.wait(SILENT);
        }
    }

    /// As [`park`](Self::park), but not for much longer than `most`.
    pub(super) fn timed_park(&self, most: Duration) {
        // Acquire as in `park`.
        if self.0.word().load(Ordering::Acquire) == SILENT {
            self.0.wait_at_most(SILENT, most);
        }
    }

    /// Rings. Says whether the bell was silent before.
    ///
    /// The system call is made even where the bell had been rung: whoever rang it may have been suspended before
    /// making the call.
    pub(super) fn ring(&self) -> bool {
        let fresh = self.0.word().swap(RUNG, Ordering::AcqRel) == SILENT;
        self.0.wake();
        fresh
    }

    /// Whether the bell has been rung and not yet forgotten.
    pub(super) fn is_rung(&self) -> bool {
        self.0.word().load(Ordering::Acquire) == RUNG
    }
}
