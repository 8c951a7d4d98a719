//! Where a worker's thread blocks while it waits for an event. A replacement works meanwhile.
//!
//! | state | meaning | entered by |
//! |---|---|---|
//! | `AWAKE` | the thread does not block here | the thread itself, or `unpark` |
//! | `PARKED` | the thread blocks, or is about to look for the event again | the thread itself |
//!
//! The waker publishes the event, makes a fence, and looks for `PARKED`. The waiter sets `PARKED`,
//! makes a fence, and looks for the event. So one of them sees the other. A wake-up before the
//! thread blocks is not lost, since it changes the word on which the thread would block.

use crate::os::Futex;
use crate::primitive::{Ordering, fence};

/// The default of a futex.
const AWAKE: u32 = 0;
const PARKED: u32 = 1;

/// One for each slot.
#[derive(Debug, Default)]
pub(crate) struct WaitParker(Futex);

impl WaitParker {
    /// Blocks the calling thread, which has this slot, until it is unparked. Does not block if
    /// `is_over` returns true. May return spuriously.
    pub(crate) fn park(&self, is_over: impl Fn() -> bool) {
        // A relaxed swap: loom orders it after all earlier changes of the word, and a store not.
        self.0.word.swap(PARKED, Ordering::Relaxed);
        // Pairs with the fence in `unpark`: either that sees `PARKED`, or the event is seen here.
        fence(Ordering::SeqCst);
        if !is_over() {
            self.0.wait(PARKED, None);
        }
        // Acquire pairs with the release in `unpark`.
        self.0.word.swap(AWAKE, Ordering::Acquire);
    }

    /// Wakes the thread if it blocks here, and calls `before_wake` then. The caller has published
    /// the event before.
    pub(crate) fn unpark(&self, before_wake: impl FnOnce()) {
        // Pairs with the fence in `park`.
        fence(Ordering::SeqCst);
        if self.0.word.load(Ordering::Relaxed) == PARKED
            && self.0.word.swap(AWAKE, Ordering::Release) == PARKED
        {
            before_wake();
            self.0.wake();
        }
    }
}
