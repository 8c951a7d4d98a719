//! Which replacements are free.
//!
//! | word | the replacement | entered by |
//! |---|---|---|
//! | `NO_THREAD` | is free, and has no thread | - |
//! | `FREE` | is free; its thread is parked, or about to park | its thread |
//! | `TAKEN` | is about to get an index | a thread that takes it |
//! | an index | works, or is about to work, under that index; or has lost it | that thread |
//! | an index, `IN_FRAME` | is inside of a task that has blocked | its thread |
//!
//! A replacement whose lock was taken is free: whoever has taken it may say so, although the thread
//! of the replacement has yet to notice. A number that each sending changes keeps the thread from
//! freeing itself when it was sent out again.

use std::sync::{Mutex, PoisonError};

use crate::deque::OwnDeque;
use crate::header::Job;
use crate::numbers::Index;
use crate::primitive::thread::JoinHandle;
use crate::primitive::{AtomicU64, CachePadded, Ordering};
use crate::sleep::Parker;

/// All replacements of a pool, including those without a thread.
#[derive(Default)]
pub(crate) struct Replacements {
    all: Box<[CachePadded<Replacement>]>,
    /// The threads that have been started.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Replacement {
    word: AtomicU64,
    parker: Parker,
    /// Made together with the slot, and taken by the thread when it starts.
    deque: Mutex<Option<OwnDeque<Job>>>,
}

/// The default of a word.
const NO_THREAD: u64 = 0;
const FREE: u64 = 1;
const TAKEN: u64 = 2;
/// Added to an index.
const FIRST_INDEX: u64 = 3;
/// The bits of these.
const STATE: u64 = (1 << 32) - 1;
const IN_FRAME: u64 = 1 << 32;
/// Above these bits is the number of times that it was sent out.
const ONE_SENDING: u64 = 1 << 33;

fn state_of(index: Index) -> u64 {
    index.get() as u64 + FIRST_INDEX
}

/// A replacement that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Taken {
    pub(crate) number: usize,
    pub(crate) has_thread: bool,
}

/// That a replacement was sent out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending(u64);

impl Sending {
    pub(crate) fn index(self) -> Index {
        Index::new(((self.0 & STATE) - FIRST_INDEX) as usize)
    }
}

impl Replacements {
    pub(crate) fn new(replacements: usize) -> Self {
        let all = (0..replacements).map(|_| CachePadded::default()).collect();
        Self { all, threads: Mutex::default() }
    }

    /// Takes a free replacement; one that has a thread if possible.
    pub(crate) fn take(&self) -> Option<Taken> {
        let take = |from| {
            let is_taken = |it: &CachePadded<Replacement>| {
                // Relaxed: `send_out` or `put_back` follows. Read first: most are not free.
                let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
                let word = it.word.load(Ordering::Relaxed);
                let taken = word & !STATE | TAKEN;
                word & STATE == from
                    && it.word.compare_exchange(word, taken, success, failure).is_ok()
            };
            let number = self.all.iter().position(is_taken)?;
            Some(Taken { number, has_thread: from == FREE })
        };
        take(FREE).or_else(|| take(NO_THREAD))
    }

    /// Frees a replacement that was taken, and was not sent out or has no thread.
    pub(crate) fn put_back(&self, taken: Taken) {
        let free = if taken.has_thread { FREE } else { NO_THREAD };
        let word = &self.all[taken.number].word;
        word.store(word.load(Ordering::Relaxed) & !STATE | free, Ordering::Relaxed);
    }

    /// Has a replacement that was taken work under an index, whose lock it was given. Wakes its
    /// thread, if it has one.
    pub(crate) fn send_out(&self, taken: Taken, index: Index) {
        let it = &self.all[taken.number];
        // Only this thread changes the word of a replacement that it has taken.
        let before = it.word.load(Ordering::Relaxed) & !STATE;
        let word = before.wrapping_add(ONE_SENDING) | state_of(index);
        // Release pairs with the acquire in `wait`: the thread sees that it has the lock.
        it.word.store(word, Ordering::Release);
        it.parker.unpark();
    }

    /// Frees a replacement from which the caller has taken the lock of `index`, unless the thread of
    /// the replacement is inside of a task, or has freed itself.
    pub(crate) fn free_loser(&self, number: usize, index: Index) {
        let free =
            |word| (word & (STATE | IN_FRAME) == state_of(index)).then_some(word & !STATE | FREE);
        // Relaxed: as in `take`.
        let _ = self.all[number].word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free);
    }

    /// The thread of a replacement, which was sent out by `sending`, is free, unless it was freed and
    /// sent out again meanwhile.
    pub(crate) fn set_free(&self, number: usize, sending: Sending) {
        let free = sending.0 & !STATE | FREE;
        let word = &self.all[number].word;
        let _ = word.compare_exchange(sending.0, free, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Says whether the thread of a replacement is inside of a task that has blocked. It has the
    /// lock of its index when this becomes true.
    pub(crate) fn set_in_frame(&self, number: usize, is_in_frame: bool) {
        let word = &self.all[number].word;
        // Relaxed: the thread gives the lock away after that, with release.
        if is_in_frame {
            word.fetch_or(IN_FRAME, Ordering::Relaxed);
        } else if word.load(Ordering::Relaxed) & IN_FRAME != 0 {
            word.fetch_and(!IN_FRAME, Ordering::Relaxed);
        }
    }

    /// Waits, on the thread of a replacement, until it is sent out. `None` if `is_closed`.
    pub(crate) fn wait(&self, number: usize, is_closed: impl Fn() -> bool) -> Option<Sending> {
        let it = &self.all[number];
        loop {
            // Acquire pairs with the release in `send_out`.
            let word = it.word.load(Ordering::Acquire);
            if word & STATE >= FIRST_INDEX {
                return Some(Sending(word));
            }
            if is_closed() {
                return None;
            }
            it.parker.park(|| it.word.load(Ordering::Acquire) != word || is_closed(), None);
        }
    }

    /// Wakes all replacements that are free, after the pool has been closed. Their threads end.
    pub(crate) fn wake_all(&self) {
        self.all.iter().for_each(|it| _ = it.parker.unpark());
    }

    /// Keeps the deque of a replacement for its thread.
    pub(crate) fn set_deque(&self, number: usize, deque: OwnDeque<Job>) {
        *self.all[number].deque.lock().unwrap_or_else(PoisonError::into_inner) = Some(deque);
    }

    pub(crate) fn take_deque(&self, number: usize) -> OwnDeque<Job> {
        let deque = self.all[number].deque.lock().unwrap_or_else(PoisonError::into_inner).take();
        deque.expect("a replacement gets a thread once")
    }

    pub(crate) fn add_thread(&self, thread: JoinHandle<()>) {
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
    fn one_that_has_lost_its_index_is_free_unless_it_is_inside_of_a_task() {
        let (all, [index, other]) = (Replacements::new(1), [0, 65_533].map(Index::new));
        let taken = all.take().unwrap();
        assert!(!taken.has_thread && all.take().is_none());
        all.free_loser(0, index);
        assert_eq!(all.take(), None, "it has no index yet");
        all.send_out(taken, index);
        assert_eq!(all.wait(0, || false).unwrap().index(), index);
        all.free_loser(0, other);
        all.set_in_frame(0, true);
        all.free_loser(0, index);
        assert_eq!(all.take(), None);
        all.set_in_frame(0, false);
        all.free_loser(0, index);
        let taken = all.take().unwrap();
        assert!(taken.has_thread);
        all.send_out(taken, other);
        assert_eq!(all.wait(0, || false).unwrap().index(), other);
    }

    #[test]
    fn one_that_was_sent_out_again_does_not_free_itself() {
        let (all, index) = (Replacements::new(1), Index::new(7));
        all.send_out(all.take().unwrap(), index);
        let first = all.wait(0, || false).unwrap();
        all.free_loser(0, index);
        let taken = all.take().unwrap();
        all.set_free(0, first);
        assert_eq!(all.take(), None);
        all.send_out(taken, index);
        all.set_free(0, first);
        assert_eq!(all.take(), None);
        all.set_free(0, all.wait(0, || false).unwrap());
        assert!(all.take().is_some());
    }
}
