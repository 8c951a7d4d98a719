//! The turns of an `ordered` loop: its chunks pass in ascending order.

use locksley_sys::primitive::{AtomicU64, Ordering};

use crate::race_detector;
use crate::waiting::Event;

/// Which iterations have passed.
#[derive(Debug)]
pub(super) struct Turns {
    /// The first iteration of the chunk whose turn it is.
    next: AtomicU64,
    passed: Event,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { next: AtomicU64::new(0), passed: Event::new() }
    }

    pub(super) fn reset(&mut self) {
        self.next.store(0, Ordering::Relaxed);
    }

    /// Waits until all iterations before `first` have passed.
    pub(super) fn wait(&self, first: u64) {
        // Acquire: pairs with the release in `pass`. What earlier iterations wrote is seen.
        self.passed.wait(|| self.next.load(Ordering::Acquire) >= first);
        race_detector::acquire(self);
    }

    /// Says that the iterations up to `end`, which is excluded, have passed; the caller has waited
    /// for its turn.
    pub(super) fn pass(&self, end: u64) {
        race_detector::release(self);
        // Release: pairs with the acquire in `wait`.
        self.next.store(end, Ordering::Release);
        self.passed.notify_all();
    }
}
