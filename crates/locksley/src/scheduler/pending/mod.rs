//! What keeps a pool open: one word that counts it.
//!
//! | bits  | field   | counts                                                                       |
//! |-------|---------|------------------------------------------------------------------------------|
//! | 0–31  | `owed`  | detached closures that have not ended, and 1 for the pool's handle           |
//! | 32–63 | `tasks` | futures that are tasks and have not finished; 1 while they are being cancelled |
//!
//! When nothing is owed any more, the tasks are cancelled; when there is nothing at all, the pool is
//! closed. The word comes to 0 once: whatever is added is counted before it is sent.

#[cfg(all(test, loom))]
mod models;

use crate::primitive::{AtomicU64, CachePadded, Ordering};

const ONE_OWED: u64 = 1;
const ONE_TASK: u64 = 1 << 32;

/// The count of pending closures and tasks.
#[derive(Debug)]
pub(crate) struct Pending(CachePadded<AtomicU64>);

/// What is left after something has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Left {
    /// Something that is owed; or tasks that are being cancelled already.
    Some,
    /// Only tasks: they are to be cancelled.
    Tasks,
    Nothing,
}

impl Pending {
    /// Only the pool's handle is there.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU64::new(ONE_OWED)))
    }

    /// A closure is about to be accepted. `false` if nothing is left: the caller need not be counted
    /// itself.
    #[must_use]
    pub(crate) fn begin_owed(&self) -> bool {
        self.begin(ONE_OWED)
    }

    /// A closure, or the pool's handle, has ended.
    pub(crate) fn end_owed(&self) -> Left {
        match self.end(ONE_OWED) {
            0 => Left::Nothing,
            word if word as u32 == 0 => Left::Tasks,
            _ => Left::Some,
        }
    }

    /// As [`begin_owed`](Self::begin_owed), for a task.
    #[must_use]
    pub(crate) fn begin_task(&self) -> bool {
        self.begin(ONE_TASK)
    }

    /// A task has finished.
    pub(crate) fn end_task(&self) -> Left {
        if self.end(ONE_TASK) == 0 { Left::Nothing } else { Left::Some }
    }

    fn begin(&self, one: u64) -> bool {
        let mut before = self.0.load(Ordering::Relaxed);
        while before != 0 {
            must_have_room(before);
            let after = before + one;
            // Relaxed: its end comes after it is sent, which comes after this.
            match self.0.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => before = now,
            }
        }
        false
    }

    fn end(&self, one: u64) -> u64 {
        // AcqRel: the thread that closes the pool has seen the end of all.
        self.0.fetch_sub(one, Ordering::AcqRel) - one
    }
}

/// A field with more than this could reach into the other.
const TOO_MANY: u64 = 1 << 31;

fn must_have_room(word: u64) {
    if u64::from(word as u32) > TOO_MANY || word >> 32 > TOO_MANY {
        std::process::abort(); // no memory holds so many
    }
}
