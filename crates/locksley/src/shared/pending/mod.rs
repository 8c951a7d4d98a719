//! The count of what keeps a pool open, in one word.
//!
//! | bits  | field      | counts                                                           |
//! |-------|------------|------------------------------------------------------------------|
//! | 0–31  | `closures` | closures that have not ended, detached or with a handle, and one |
//! |       |            | for the pool's handle                                            |
//! | 32–63 | `tasks`    | futures that have not finished                                   |
//!
//! When `closures` comes to 0, the tasks are cancelled. When the word comes to 0, the pool is
//! closed. This happens once: 0 is final, since a closure or a task is counted before it is sent.

#[cfg(all(test, loom))]
mod models;

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const ONE_CLOSURE: u64 = 1;
const ONE_TASK: u64 = 1 << 32;

/// The count of pending closures and tasks.
#[derive(Debug)]
pub(crate) struct Pending(CachePadded<AtomicU64>);

/// What is left after an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Left {
    /// Closures; or, after the end of a task, anything.
    Some,
    /// Only tasks, which the caller cancels.
    Tasks,
    /// Nothing: the caller closes the pool.
    Nothing,
}

impl Pending {
    /// Counts only the pool's handle.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(ONE_CLOSURE)))
    }

    /// Counts a closure before it is sent. `false` if the pool is closed.
    #[must_use]
    pub(crate) fn begin_closure(&self) -> bool {
        self.begin(ONE_CLOSURE)
    }

    /// Counts the end of a closure, or of the pool's handle.
    pub(crate) fn end_closure(&self) -> Left {
        match self.end(ONE_CLOSURE) {
            0 => Left::Nothing,
            word if word as u32 == 0 => Left::Tasks,
            _ => Left::Some,
        }
    }

    /// Counts a task before it is sent. `false` if the pool is closed.
    #[must_use]
    pub(crate) fn begin_task(&self) -> bool {
        self.begin(ONE_TASK)
    }

    /// Counts the end of a task.
    pub(crate) fn end_task(&self) -> Left {
        if self.end(ONE_TASK) == 0 { Left::Nothing } else { Left::Some }
    }

    /// The number of closures, with the pool's handle, and the number of tasks.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let word = self.0.load(Ordering::Relaxed);
        (word as u32 as usize, (word >> 32) as usize)
    }

    fn begin(&self, one: u64) -> bool {
        let begin = |before| {
            abort_if_full(before);
            (before != 0).then_some(before + one)
        };
        // Relaxed: sending it publishes this, and its end comes after that.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, begin).is_ok()
    }

    fn end(&self, one: u64) -> u64 {
        // AcqRel: the thread that closes the pool sees all that was done before the other ends.
        self.0.fetch_sub(one, Ordering::AcqRel) - one
    }
}

/// A field above this bound might overflow into the other one.
const TOO_MANY: u64 = 1 << 31;

fn abort_if_full(word: u64) {
    if u64::from(word as u32) > TOO_MANY || word >> 32 > TOO_MANY {
        std::process::abort(); // more than memory can hold
    }
}
