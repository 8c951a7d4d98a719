//! Wake-ups that thieves wish for and that other thieves carry out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::primitive::CachePadded;

/// The wake-up counters of BWS (section 3.2), one a worker: how many sleepers it would have others wake. Thieves pass pending wake-ups on, so
/// whoever has work spends no time on them. Their loss or doubling would wake a worker less or more, and no task depends
/// on it: relaxed accesses do.
#[derive(Debug, Default)]
pub(super) struct PendingWakeups(OnceLock<Box<[CachePadded<AtomicU32>]>>);

/// More are forgotten: they would only bring up workers that find nothing.
const MOST: u32 = 64;

impl PendingWakeups {
    /// Room for so many workers. Each of them calls this before anything else.
    pub(super) fn prepare(&self, workers: usize) {
        let _ = self.0.get_or_init(|| (0..workers).map(|_| CachePadded::default()).collect());
    }

    fn of(&self, worker: usize) -> Option<&AtomicU32> {
        self.0.get()?.get(worker).map(|padded| &**padded)
    }

    pub(super) fn add(&self, worker: usize, number: u32) {
        if let Some(pending_wakeups) = self.of(worker)
            && pending_wakeups.load(Ordering::Relaxed) < MOST
        {
            pending_wakeups.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&self, worker: usize) -> bool {
        let less = |pending_wakeups: u32| pending_wakeups.checked_sub(1);
        self.of(worker).is_some_and(|pending_wakeups| {
            pending_wakeups.load(Ordering::Relaxed) > 0
                && pending_wakeups.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        })
    }

    /// Takes one from `giver`, if it has one, for `taker`.
    pub(super) fn pass_on(&self, giver: usize, taker: usize) {
        if self.take(giver) {
            self.add(taker, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn pending_wake_ups_are_passed_on_and_taken_once() {
        let pending_wakeups = PendingWakeups::default();
        pending_wakeups.prepare(2);
        pending_wakeups.add(0, 2);
        pending_wakeups.pass_on(0, 1);
        assert!(pending_wakeups.take(1) && !pending_wakeups.take(1));
        pending_wakeups.pass_on(1, 0);
        assert!(pending_wakeups.take(0) && !pending_wakeups.take(0), "there was none to pass on");
    }

    #[test]
    fn pending_wake_ups_do_not_pile_up() {
        let pending_wakeups = PendingWakeups::default();
        pending_wakeups.prepare(1);
        (0..1000).for_each(|_| pending_wakeups.add(0, 2));
        assert_eq!((0..1000).filter(|_| pending_wakeups.take(0)).count(), MOST as usize);
    }
}
