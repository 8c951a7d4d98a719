//! Which replacements are free.
//!
//! | word | the replacement | entered by |
//! |---|---|---|
//! | `NO_THREAD` | is free, and has no thread | - |
//! | `FREE` | is free; its thread is parked, or about to park | its thread |
//! | `TAKEN` | is about to get an index | a thread that takes it |
//! | an index | works, or is about to work, under that index, whose lock it has | that thread |

use std::sync::{Mutex, PoisonError};

use crate::deque::OwnDeque;
use crate::header::Job;
use crate::numbers::Index;
use crate::primitive::thread::JoinHandle;
use crate::primitive::{AtomicU32, CachePadded, Ordering};
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
    word: AtomicU32,
    parker: Parker,
    /// Made together with the slot, and taken by the thread when it starts.
    deque: Mutex<Option<OwnDeque<Job>>>,
}

/// The default of a word.
const NO_THREAD: u32 = 0;
const FREE: u32 = 1;
const TAKEN: u32 = 2;
/// Added to an index.
const FIRST_INDEX: u32 = 3;

/// A replacement that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Taken {
    pub(crate) number: usize,
    pub(crate) has_thread: bool,
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
                it.word.load(Ordering::Relaxed) == from
                    && it.word.compare_exchange(from, TAKEN, success, failure).is_ok()
            };
            let number = self.all.iter().position(is_taken)?;
            Some(Taken { number, has_thread: from == FREE })
        };
        take(FREE).or_else(|| take(NO_THREAD))
    }

    /// Frees a replacement that was taken, and was not sent out or has no thread.
    pub(crate) fn put_back(&self, taken: Taken) {
        let free = if taken.has_thread { FREE } else { NO_THREAD };
        self.all[taken.number].word.store(free, Ordering::Relaxed);
    }

    /// Has a replacement that was taken work under an index, whose lock it was given. Wakes its
    /// thread, if it has one.
    pub(crate) fn send_out(&self, taken: Taken, index: Index) {
        let it = &self.all[taken.number];
        // Release pairs with the acquire in `wait`: the thread sees that it has the lock.
        it.word.store(index.get() as u32 + FIRST_INDEX, Ordering::Release);
        it.parker.unpark();
    }

    /// The thread of a replacement is free.
    pub(crate) fn set_free(&self, number: usize) {
        self.all[number].word.store(FREE, Ordering::Relaxed);
    }

    /// Waits, on the thread of a replacement, until it is sent out. Returns the index; `None` if
    /// `is_closed`.
    pub(crate) fn wait(&self, number: usize, is_closed: impl Fn() -> bool) -> Option<Index> {
        let it = &self.all[number];
        loop {
            // Acquire pairs with the release in `send_out`.
            let word = it.word.load(Ordering::Acquire);
            if word >= FIRST_INDEX {
                return Some(Index::new((word - FIRST_INDEX) as usize));
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
