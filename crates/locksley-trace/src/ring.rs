//! The protocol of a ring: its thread writes events, and readers of any process copy them.
//!
//! The *head* is the number of events ever written. The writer stores the words of event `n`, and
//! then `n + 1` as the head. A reader copies the head, the words, and the head again. Of the events
//! before the first head it keeps those that the writer had not begun to overwrite at the second.
//! A reader writes nothing, so it may be slow, stop, or lie to itself without harm to the writer.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is recorded"))]

use std::ops::Range;

use locksley_sys::primitive::{Ordering, fence};

#[cfg(all(test, loom))]
mod models;

/// A word of a ring: of a file that is mapped, or of a model.
pub(crate) trait Word {
    fn store(&self, value: u64, order: Ordering);
}

impl Word for std::sync::atomic::AtomicU64 {
    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        Self::store(self, value, order);
    }
}

/// Writes event `number`, the next one. `words` has two for each event, a power of two.
#[inline]
pub(crate) fn write<W: Word>(head: &W, words: &[W], number: u64, event: [u64; 2]) {
    // Release pairs with the fence between the copy of the words and that of the head: a reader
    // that sees a word of this event sees that `number` events were written.
    fence(Ordering::Release);
    let first = (2 * number as usize) & (words.len() - 1);
    words[first].store(event[0], Ordering::Relaxed);
    words[first | 1].store(event[1], Ordering::Relaxed);
    // Release: a reader that sees the head sees the event.
    head.store(number + 1, Ordering::Release);
}

/// The events that a reader keeps, if the head was `before` and `after` its copy of the words.
pub(crate) fn kept(before: u64, after: u64, capacity: u64) -> Range<u64> {
    if after < before {
        // The ring got another thread meanwhile.
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
        // Event 4 may be half written, in the place of event 0.
        assert_eq!(kept(4, 4, 4), 1..4);
        assert_eq!(kept(4, 6, 4), 3..4);
        assert_eq!(kept(4, 100, 4), 4..4);
        assert_eq!(kept(4, 3, 4), 4..4);
        assert_eq!(kept(u64::MAX, u64::MAX, 4), u64::MAX - 4..u64::MAX);
    }
}
