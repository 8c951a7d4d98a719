//! A barrier that is past when all members have arrived and no task is outstanding.
//!
//! The word holds the number of barriers passed, and of members that have arrived. *Invariant*: the
//! word changes from "all have arrived" only by the compare-and-swap that opens the barrier, so it
//! opens once. *Argument* that it opens: the last arrival and the end of the last task each change
//! their counter, make a fence, and read the other counter; at least one of them sees both.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// The members that have arrived, and how often all have.
#[derive(Debug)]
pub(super) struct Barrier {
    word: AtomicU64,
    size: u32,
}

fn generation(word: u64) -> u32 {
    (word >> 32) as u32
}

impl Barrier {
    pub(super) fn new(size: u32) -> Self {
        Self { word: AtomicU64::new(0), size }
    }

    /// A member arrives. Returns the number of the barrier, or `None` if that opens it.
    pub(super) fn arrive(&self, outstanding: &AtomicUsize) -> Option<u32> {
        // Release: pairs with the acquire in `open`, and through that with the one in `is_past`.
        let before = self.word.fetch_add(1, Ordering::Release);
        // Mostly there are no tasks. A fence would give others time to take the cache line.
        if self.open(outstanding) {
            return None;
        }
        // Pairs with the fence of the task that ends last.
        fence(Ordering::SeqCst);
        (!self.open(outstanding)).then(|| generation(before))
    }

    /// Opens the barrier if all have arrived and no task is `outstanding`. A task that ends has
    /// made a sequentially consistent fence before this call.
    ///
    /// When all have arrived, only outstanding tasks create further ones. So a 0 stays a 0.
    pub(super) fn open(&self, outstanding: &AtomicUsize) -> bool {
        // Acquire: pairs with the release in `arrive`.
        let word = self.word.load(Ordering::Acquire);
        // Acquire: pairs with the release of a task's end.
        if word as u32 != self.size || outstanding.load(Ordering::Acquire) != 0 {
            return false;
        }
        let next = u64::from(generation(word).wrapping_add(1)) << 32;
        // Release: pairs with the acquire in `is_past`.
        self.word.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// True if the barrier of this number has opened.
    pub(super) fn is_past(&self, number: u32) -> bool {
        // Acquire: pairs with the release in `open`. What members and tasks wrote before is seen.
        generation(self.word.load(Ordering::Acquire)) != number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_when_all_have_arrived_and_all_tasks_have_ended() {
        let (barrier, tasks) = (Barrier::new(2), AtomicUsize::new(1));
        let number = barrier.arrive(&tasks).expect("a member is missing");
        tasks.store(0, Ordering::Relaxed);
        assert!(!barrier.open(&tasks) && !barrier.is_past(number));
        tasks.store(1, Ordering::Relaxed);
        assert_eq!(barrier.arrive(&tasks), Some(number));
        assert!(!barrier.open(&tasks));
        tasks.store(0, Ordering::Relaxed);
        assert!(barrier.open(&tasks) && barrier.is_past(number));
        assert!(!barrier.open(&tasks), "it opens once");
        assert!(barrier.arrive(&tasks).is_some() && barrier.arrive(&tasks).is_none());
        assert!(!barrier.open(&tasks), "it opens once");
    }

    #[test]
    fn members_pass_together() {
        const MEMBERS: u32 = 3;
        let (barrier, tasks, rounds) = (Barrier::new(MEMBERS), AtomicUsize::new(0), 500);
        let arrived = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..MEMBERS {
                scope.spawn(|| {
                    for round in 1..=rounds {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        if let Some(number) = barrier.arrive(&tasks) {
                            while !barrier.is_past(number) {
                                std::thread::yield_now();
                            }
                        }
                        assert!(arrived.load(Ordering::Relaxed) >= round * MEMBERS as usize);
                    }
                });
            }
        });
    }
}
