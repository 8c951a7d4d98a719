//! Where a worker's thread blocks while it waits for an event, and a replacement has its slot.
//!
//! | state | meaning | changes when |
//! |---|---|---|
//! | `AWAKE` | the thread does not block here | |
//! | `PARKED` | it blocks, or is about to look again and then to block | it parks |
//!
//! Whichever thread makes the event happen publishes that first, makes a fence and looks for
//! `PARKED`; the waiter sets `PARKED`, makes a fence and looks for the event. So one of them sees the
//! other. A wake-up is kept, since it changes the word on which the waiter blocks.

use crate::os::Futex;
use crate::primitive::{Ordering, fence};

const AWAKE: u32 = 0;
const PARKED: u32 = 1;

/// One for each slot.
#[derive(Debug)]
pub(crate) struct Parker(Futex);

impl Parker {
    pub(crate) fn new() -> Self {
        Self(Futex::new(AWAKE))
    }

    /// Blocks the calling thread, whose slot this is, until it is unparked, unless `is_over`. It may
    /// return for no reason.
    pub(crate) fn park(&self, is_over: impl Fn() -> bool) {
        // Relaxed, by a change, which comes after all changes that were made before: loom cannot tell
        // that of a store.
        self.0.word().swap(PARKED, Ordering::Relaxed);
        // Pairs with the fence in `unpark`: either that sees `PARKED`, or the event is seen here.
        fence(Ordering::SeqCst);
        if !is_over() {
            self.0.wait(PARKED);
        }
        // Acquire, by a change: pairs with the release in `unpark`.
        self.0.word().swap(AWAKE, Ordering::Acquire);
    }

    /// Wakes the thread if it blocks here. The event was published before.
    pub(crate) fn unpark(&self) {
        // Pairs with the fence in `park`.
        fence(Ordering::SeqCst);
        if self.0.word().load(Ordering::Relaxed) == PARKED
            && self.0.word().swap(AWAKE, Ordering::Release) == PARKED
        {
            self.0.wake();
        }
    }
}
