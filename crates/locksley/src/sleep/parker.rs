//! Where a thread blocks: a worker that sleeps or waits, a replacement that has no index, and a
//! thread outside of pools that waits for one.
//!
//! | state | meaning | entered by |
//! |---|---|---|
//! | `AWAKE` | the thread does not block here | the thread itself |
//! | `PARKED` | the thread blocks, or is about to look for the event again | the thread itself |
//! | `NOTIFIED` | the thread is being woken | a waker |
//!
//! The waker publishes the event, makes a fence, and does nothing if it finds `AWAKE`. The thread
//! sets `PARKED`, makes a fence, and looks for the event. So one of them sees the other. A wake-up
//! before the thread blocks is not lost, since it changes the word on which the thread would block.
//! A waker that finds `NOTIFIED` calls the kernel, too: the other waker may be suspended before its
//! call.

use std::time::Duration;

use crate::os::Futex;
use crate::primitive::{Ordering, fence};

/// The default of a futex.
const AWAKE: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// One for each slot, and for each wait of a thread outside of pools.
#[derive(Debug, Default)]
pub(crate) struct Parker(Futex);

impl Parker {
    /// Blocks the calling thread, which alone does so here, until it is unparked, or for about
    /// `timeout`. Does not block if `is_over` returns true. May return spuriously.
    pub(crate) fn park(&self, is_over: impl FnOnce() -> bool, timeout: Option<Duration>) {
        self.prepare();
        // Pairs with the fence in `unpark`: either that sees the word, or the event is seen here.
        fence(Ordering::SeqCst);
        if !is_over() {
            self.block(timeout);
        }
        self.finish();
    }

    /// Announces that the calling thread is about to block. It makes a fence, looks for a reason to
    /// stay awake, [blocks](Self::block) if there is none, and [finishes](Self::finish).
    pub(crate) fn prepare(&self) {
        // A relaxed swap: loom orders it after all earlier changes of the word, and a store not.
        self.0.word.swap(PARKED, Ordering::Relaxed);
    }

    /// Blocks until the thread is unparked, or for about `timeout`. Returns true if it has been
    /// unparked since it prepared. May return spuriously.
    pub(crate) fn block(&self, timeout: Option<Duration>) -> bool {
        if !self.is_notified() {
            self.0.wait(PARKED, timeout);
        }
        self.is_notified()
    }

    /// The calling thread does not block here any more.
    pub(crate) fn finish(&self) {
        // Acquire pairs with the release in `unpark`.
        self.0.word.swap(AWAKE, Ordering::Acquire);
    }

    /// Wakes the thread if it blocks here, or is about to. Returns true if no other thread was
    /// about to wake it. The caller has published the event before.
    pub(crate) fn unpark(&self) -> bool {
        // Pairs with the fence in `park`.
        fence(Ordering::SeqCst);
        if self.0.word.load(Ordering::Relaxed) == AWAKE {
            return false;
        }
        let is_first = self.0.word.swap(NOTIFIED, Ordering::Release) == PARKED;
        self.0.wake();
        is_first
    }

    /// True if the thread is being woken.
    pub(crate) fn is_notified(&self) -> bool {
        // Acquire pairs with the release in `unpark`.
        self.0.word.load(Ordering::Acquire) == NOTIFIED
    }
}
