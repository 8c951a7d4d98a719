//! A ring buffer of events: one writer, its thread, and readers in any process (a seqlock).
//!
//! The *head* is the number of events ever written. The writer stores the words of event `n`, and
//! then `n + 1` as the head. A reader copies the head, the words, and the head again. It keeps the
//! events before the first head that the writer had not begun to overwrite at the second one.
//! Readers write nothing, so a slow, stopped or faulty reader does not affect the writer.
//!
//! A thread that gets the ring of an ended one continues its numbers: the number of its *first*
//! event is in the ring, and names the thread. A reader copies this with each head. If it has
//! changed, another thread has got the ring meanwhile, and the reader keeps nothing.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is recorded"))]

use std::ops::Range;

use locksley_sys::primitive::{Ordering, fence};

#[cfg(all(test, loom))]
mod models;

/// A word of a ring: in a mapped file, or in a loom model.
pub(crate) trait Word {
    fn store(&self, value: u64, order: Ordering);
}

impl Word for std::sync::atomic::AtomicU64 {
    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        Self::store(self, value, order);
    }
}

/// Writes event `number`, the next one. An event has two words; `words.len()` is a power of two.
#[inline]
pub(crate) fn write<W: Word>(head: &W, words: &[W], number: u64, event: [u64; 2]) {
    // Release pairs with the reader's fence between its copies of the words and of the head: a
    // reader that sees a word of this event then reads a head of at least `number`.
    fence(Ordering::Release);
    let first = (2 * number as usize) & (words.len() - 1);
    words[first].store(event[0], Ordering::Relaxed);
    words[first | 1].store(event[1], Ordering::Relaxed);
    // Release pairs with the reader's first load of the head: it then sees the event.
    head.store(number + 1, Ordering::Release);
}

/// Begins to use the ring of a thread that has ended. The next event is `number`, before which the
/// caller writes what else tells the threads apart.
pub(crate) fn begin<W: Word>(first: &W, number: u64) {
    first.store(number, Ordering::Relaxed);
    // Release pairs with the reader's fence between its copies: a reader that sees what follows
    // then reads this number.
    fence(Ordering::Release);
}

/// What a reader finds in the ring's header before it copies the rest, and after that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) first: u64,
    pub(crate) head: u64,
}

/// The events that a reader keeps.
pub(crate) fn kept(before: Ends, after: Ends, capacity: u64) -> Range<u64> {
    let Ends { first, head } = before;
    if after.first != first || after.head < head {
        return head..head;
    }
    // The writer may have been in the middle of event `after.head`.
    let oldest = after.head.saturating_add(1).saturating_sub(capacity);
    oldest.max(first).min(head)..head
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_overwritten_is_left_out() {
        let kept = |before: [u64; 2], after: [u64; 2]| {
            let [before, after] = [before, after].map(|[first, head]| Ends { first, head });
            kept(before, after, 4)
        };
        assert_eq!(kept([0, 0], [0, 0]), 0..0);
        assert_eq!(kept([0, 3], [0, 3]), 0..3);
        // Event 4 may be partly written, in the place of event 0.
        assert_eq!(kept([0, 4], [0, 4]), 1..4);
        assert_eq!(kept([0, 4], [0, 6]), 3..4);
        assert_eq!(kept([0, 4], [0, 100]), 4..4);
        assert_eq!(kept([0, 4], [0, 3]), 4..4);
        assert_eq!(kept([0, u64::MAX], [0, u64::MAX]), u64::MAX - 4..u64::MAX);
        // Another thread's.
        assert_eq!(kept([2, 4], [2, 4]), 2..4);
        assert_eq!(kept([0, 4], [4, 4]), 4..4);
        assert_eq!(kept([9, 4], [9, 4]), 4..4);
    }
}
