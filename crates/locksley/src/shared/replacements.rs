//! Which replacements are free: a stack. The last one that was freed is taken first, so that those
//! that have a thread are taken before others. (Not if a thread could not be started lately.)
//!
//! A replacement that is taken is given an index: first `set_index`, then the lock of the index. It
//! is free again as soon as it has lost that index without being inside of a task. Whoever takes
//! the index calls `put_back`, since the thread of the replacement may be suspended. So a
//! replacement may be given another index before its thread has noticed that it has lost the first
//! one.

use std::sync::PoisonError;

use crate::numbers::Index;
use crate::primitive::plain::Mutex;
use crate::primitive::thread::JoinHandle;
use crate::primitive::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// All replacements of a pool, including those without a thread.
pub(crate) struct Replacements {
    all: Box<[Replacement]>,
    /// The free ones, a stack as Treiber's ("Systems programming: coping with parallelism", 1986).
    /// Low half: the number of the first one, plus 1; 0 if there is none. High half: the number of
    /// changes, so that no thread takes a later word for the one that it read.
    free: AtomicU64,
    /// The threads that have been started.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Replacement {
    /// The free one below, as in `free`.
    next: AtomicU32,
    has_thread: AtomicBool,
    /// The index that it was given last.
    index: AtomicU32,
}

/// The word of `free` after `before`.
fn change(before: u64, first: u32) -> u64 {
    (before >> 32).wrapping_add(1) << 32 | u64::from(first)
}

impl Replacements {
    pub(crate) fn new(replacements: usize) -> Self {
        let all = (0..replacements).map(|_| Replacement::default()).collect();
        let this = Self { all, free: AtomicU64::new(0), threads: Mutex::default() };
        (0..replacements).rev().for_each(|number| this.put_back(number));
        this
    }

    /// Takes the free replacement that was freed last.
    pub(crate) fn take(&self) -> Option<usize> {
        let take = |before: u64| {
            let first = (before as u32).checked_sub(1)?;
            // Relaxed: if another thread has changed it, `free` has changed, too.
            Some(change(before, self.all[first as usize].next.load(Ordering::Relaxed)))
        };
        // Acquire pairs with the release in `put_back`.
        let before = self.free.fetch_update(Ordering::Acquire, Ordering::Acquire, take).ok()?;
        Some(before as u32 as usize - 1)
    }

    /// Frees a replacement that was taken.
    pub(crate) fn put_back(&self, number: usize) {
        let put_back = |before: u64| {
            self.all[number].next.store(before as u32, Ordering::Relaxed);
            Some(change(before, number as u32 + 1))
        };
        // AcqRel: with the release, the next taker sees what is below.
        let _ = self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, put_back);
    }

    /// The index that a replacement was given last. It works under that index while it has the
    /// lock.
    pub(crate) fn index(&self, number: usize) -> Index {
        // Relaxed: giving the lock publishes it; who sees an old one has no lock of that index.
        Index::new(self.all[number].index.load(Ordering::Relaxed) as usize)
    }

    /// Records the index that a replacement, which was taken, is about to be given.
    pub(crate) fn set_index(&self, number: usize, index: Index) {
        self.all[number].index.store(index.get() as u32, Ordering::Relaxed);
    }

    /// True if a replacement that was taken has a thread.
    pub(crate) fn has_thread(&self, number: usize) -> bool {
        // Relaxed: `put_back` and `take` order it.
        self.all[number].has_thread.load(Ordering::Relaxed)
    }

    /// Keeps the thread of a replacement that was taken.
    pub(crate) fn set_thread(&self, number: usize, thread: JoinHandle<()>) {
        self.all[number].has_thread.store(true, Ordering::Relaxed);
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    /// The threads that have been started, to be joined after the pool has been closed.
    pub(crate) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_and_the_last_one_that_was_freed_comes_first() {
        let all = Replacements::new(3);
        assert_eq!([(); 4].map(|()| all.take()), [Some(0), Some(1), Some(2), None]);
        assert!(!all.has_thread(1));
        all.set_thread(1, std::thread::spawn(|| ()));
        [2, 0, 1].into_iter().for_each(|number| all.put_back(number));
        assert_eq!([(); 2].map(|()| all.take()), [Some(1), Some(0)]);
        assert!(all.has_thread(1));
        all.put_back(1);
        assert_eq!([(); 3].map(|()| all.take()), [Some(1), Some(2), None]);
        all.take_threads().into_iter().for_each(|thread| thread.join().unwrap());
    }
}
