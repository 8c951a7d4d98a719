//! Where a worker's thread blocks while it waits for an event, and a replacement works; and where
//! that waits for an assignment.
//!
//! | state | meaning | entered by |
//! |---|---|---|
//! | `AWAKE` | the thread does not block here | the thread itself |
//! | `PARKED` | the thread blocks, or is about to look for the event again | the thread itself |
//! | `NOTIFIED` | the thread is being woken | a waker |
//!
//! The waker publishes the event, makes a fence, and does nothing if it finds `AWAKE`. The waiter
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

/// One for each slot, and one for each replacement.
#[derive(Debug, Default)]
pub(crate) struct WaitParker(Futex);

impl WaitParker {
    /// Blocks the calling thread, which alone does so here, until it is unparked, or for about
    /// `timeout`. Does not block if `is_over` returns true. May return spuriously.
    pub(crate) fn park(&self, is_over: impl Fn() -> bool, timeout: Option<Duration>) {
        // A relaxed swap: loom orders it after all earlier changes of the word, and a store not.
        self.0.word.swap(PARKED, Ordering::Relaxed);
        // Pairs with the fence in `unpark`: either that sees the swap, or the event is seen here.
        fence(Ordering::SeqCst);
        if !is_over() {
            self.0.wait(PARKED, timeout);
        }
        // Acquire pairs with the release in `unpark`.
        self.0.word.swap(AWAKE, Ordering::Acquire);
    }

    /// Wakes the thread if it blocks here, and calls `before_wake` then. The caller has published
    /// the event before.
    pub(crate) fn unpark(&self, before_wake: impl FnOnce()) {
        // Pairs with the fence in `park`.
        fence(Ordering::SeqCst);
        if self.0.word.load(Ordering::Relaxed) != AWAKE {
            if self.0.word.swap(NOTIFIED, Ordering::Release) == PARKED {
                before_wake();
            }
            self.0.wake();
        }
    }
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::thread;

    use super::*;
    use crate::primitive::stepped::{self, Gate, wait_for};

    /// A waker is held at any step. Another one has an event of its own.
    #[test]
    fn a_held_waker_does_not_keep_another_from_waking_the_thread() {
        let mut times_held = 0;
        for steps in (0..6).cycle().take(60) {
            let (parker, event) = (WaitParker::default(), AtomicBool::new(false));
            let (gate, woken) = (Arc::new(Gate::default()), AtomicUsize::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !event.load(Ordering::Acquire) {
                        parker.park(|| event.load(Ordering::Acquire), None);
                    }
                    woken.store(1, Ordering::Release);
                });
                while parker.0.word.load(Ordering::Relaxed) != PARKED {
                    thread::yield_now();
                }
                scope.spawn(|| {
                    stepped::arm(steps, &gate);
                    parker.unpark(|| ());
                    stepped::disarm();
                });
                times_held += usize::from(gate.wait_until_held());
                event.store(true, Ordering::Release);
                parker.unpark(|| ());
                let is_woken = wait_for(&woken, 1);
                gate.open();
                assert_eq!(is_woken, 1, "held after {steps} steps");
            });
        }
        assert!(times_held > 0, "the harness holds threads");
    }
}
