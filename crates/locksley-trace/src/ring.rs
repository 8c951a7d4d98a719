//! A ring buffer of events: one writer, its thread, and readers in any process (a seqlock).
//!
//! The *head* is the number of events ever written. The writer stores the words of event `n`, and
//! then `n + 1` as the head. A reader copies the head, the words, and the head again. It keeps the
//! events before the first head that the writer had not begun to overwrite at the second one.
//! Readers write nothing, so a slow, stopped or faulty reader does not affect the writer.

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

/// The events that a reader keeps. It read the head `before` and `after` it copied the words.
pub(crate) fn kept(before: u64, after: u64, capacity: u64) -> Range<u64> {
    if after < before {
        // The ring was reused by another thread meanwhile.
        return before..before;
    }
    // The writer may have been in the middle of event `after`.
    let oldest = after.saturating_add(1).saturating_sub(capacity);
    oldest.min(before)..before
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_overwritten_is_left_out() {
        assert_eq!(kept(0, 0, 4), 0..0);
        assert_eq!(kept(3, 3, 4), 0..3);
        // Event 4 may be partly written, in the place of event 0.
        assert_eq!(kept(4, 4, 4), 1..4);
        assert_eq!(kept(4, 6, 4), 3..4);
        assert_eq!(kept(4, 100, 4), 4..4);
        assert_eq!(kept(4, 3, 4), 4..4);
        assert_eq!(kept(u64::MAX, u64::MAX, 4), u64::MAX - 4..u64::MAX);
    }
}
