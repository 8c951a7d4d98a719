//! Wake-ups that successful thieves request and other thieves carry out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::primitive::CachePadded;

/// The wake-up counters of BWS (section 3.2): the number of sleepers that each worker wants woken.
///
/// Thieves take requests over from workers with work, which spend no time on them. A lost or
/// doubled request wakes one worker less or more, and no task depends on it, so accesses are
/// relaxed.
#[derive(Debug, Default)]
pub(super) struct PendingWakeups(OnceLock<Box<[CachePadded<AtomicU32>]>>);

impl PendingWakeups {
    /// Allocates the counters, once. Every worker calls this before any other method.
    pub(super) fn prepare(&self, workers: usize) {
        let _ = self.0.get_or_init(|| (0..workers).map(|_| CachePadded::default()).collect());
    }

    fn of(&self, worker: usize) -> Option<&AtomicU32> {
        self.0.get()?.get(worker).map(|padded| &**padded)
    }

    pub(super) fn add(&self, worker: usize, number: u32) {
        if let Some(pending_wakeups) = self.of(worker) {
            pending_wakeups.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Takes one request of `worker`. Returns true if there was one.
    pub(super) fn take(&self, worker: usize) -> bool {
        let less = |pending_wakeups: u32| pending_wakeups.checked_sub(1);
        self.of(worker).is_some_and(|pending_wakeups| {
            pending_wakeups.load(Ordering::Relaxed) > 0
                && pending_wakeups.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        })
    }

    /// Moves one request of `victim`, if there is one, to `thief`.
    pub(super) fn take_over(&self, thief: usize, victim: usize) {
        if self.take(victim) {
            self.add(thief, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_over_and_taken_once() {
        let pending_wakeups = PendingWakeups::default();
        pending_wakeups.prepare(2);
        pending_wakeups.add(0, 2);
        pending_wakeups.take_over(1, 0);
        assert!(pending_wakeups.take(1) && !pending_wakeups.take(1));
        pending_wakeups.take_over(0, 1);
        assert!(pending_wakeups.take(0) && !pending_wakeups.take(0), "there was none to take over");
    }
}
