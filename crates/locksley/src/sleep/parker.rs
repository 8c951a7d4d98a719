//! Blocks and unblocks the thread of one worker.

use std::time::Duration;

use crate::os::Futex;
use crate::primitive::Ordering;

/// The default of a futex.
const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;

/// A futex with a notification that is kept until [`reset`](Parker::reset):
/// [`unpark`](Parker::unpark) ends the current [`park`](Parker::park), or makes the next one return
/// at once.
#[derive(Debug, Default)]
pub(crate) struct Parker(Futex);

impl Parker {
    /// Discards a notification that came while the worker was awake. The worker calls this before
    /// it announces that it sleeps, so every notification that follows the announcement is kept.
    pub(crate) fn reset(&self) {
        // Acquire pairs with the release in `unpark`: what caused a discarded notification is seen.
        self.0.word.swap(EMPTY, Ordering::Acquire);
    }

    /// Blocks the calling worker until it is notified, or for about `timeout`. Returns true if it
    /// was notified: then it sees what caused that. May return spuriously.
    pub(crate) fn park(&self, timeout: Option<Duration>) -> bool {
        if !self.is_notified() {
            self.0.wait(EMPTY, timeout);
        }
        self.is_notified()
    }

    /// Notifies the worker. Returns true if it was not yet notified.
    ///
    /// Calls the kernel even if the worker was already notified: the thread that notified it may be
    /// suspended before its own call.
    pub(crate) fn unpark(&self) -> bool {
        // Release pairs with the acquires in `reset` and `is_notified`.
        let is_new = self.0.word.swap(NOTIFIED, Ordering::Release) == EMPTY;
        self.0.wake();
        is_new
    }

    /// True if the worker has been notified since the last [`reset`](Self::reset).
    pub(crate) fn is_notified(&self) -> bool {
        // Acquire pairs with the release in `unpark`.
        self.0.word.load(Ordering::Acquire) == NOTIFIED
    }
}
