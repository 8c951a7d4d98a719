//! Wake-ups that thieves wish for and that other hunters carry out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::primitive::CachePadded;

/// The wake-up counters of BWS (section 3.2), one a worker: how many sleepers it would have others wake. Hunters pass wishes on, so
/// whoever has work spends no time on them. Their loss or doubling would wake a worker less or more, and no task depends
/// on it: relaxed accesses do.
#[derive(Debug, Default)]
pub(super) struct Wishes(OnceLock<Box<[CachePadded<AtomicU32>]>>);

/// More are forgotten: they would only bring up workers that find nothing.
const MOST: u32 = 64;

impl Wishes {
    /// Room for so many workers. Each of them calls this before anything else.
    pub(super) fn prepare(&self, workers: usize) {
        let _ = self.0.get_or_init(|| (0..workers).map(|_| CachePadded::default()).collect());
    }

    fn of(&self, worker: usize) -> Option<&AtomicU32> {
        self.0.get()?.get(worker).map(|padded| &**padded)
    }

    pub(super) fn add(&self, worker: usize, number: u32) {
        if let Some(wishes) = self.of(worker)
            && wishes.load(Ordering::Relaxed) < MOST
        {
            wishes.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&self, worker: usize) -> bool {
        let less = |wishes: u32| wishes.checked_sub(1);
        self.of(worker).is_some_and(|wishes| {
            wishes.load(Ordering::Relaxed) > 0
                && wishes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
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
    fn wishes_are_passed_on_and_taken_once() {
        let wishes = Wishes::default();
        wishes.prepare(2);
        wishes.add(0, 2);
        wishes.pass_on(0, 1);
        assert!(wishes.take(1) && !wishes.take(1));
        wishes.pass_on(1, 0);
        assert!(wishes.take(0) && !wishes.take(0), "there was none to pass on");
    }

    #[test]
    fn wishes_do_not_pile_up() {
        let wishes = Wishes::default();
        wishes.prepare(1);
        (0..1000).for_each(|_| wishes.add(0, 2));
        assert_eq!((0..1000).filter(|_| wishes.take(0)).count(), MOST as usize);
    }
}
