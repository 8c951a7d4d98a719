//! The link of a queue node to the node behind it.

use std::ptr;

use super::waiter::Waiter;

/// What follows a node. It is one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing. `taken` permits were taken without waiting while this node was the newest.
    End { taken: usize },
    /// The next node. Once `marked`, the word is constant: this node leaves the queue, or has left.
    Waiter { waiter: *mut Waiter, marked: bool },
}

// Nodes are aligned to words, so two bits of an address are free.
const MARKED: usize = 1;
const END: usize = 2;
const TAG_BITS: u32 = 2;

impl Next {
    /// The largest `taken` of an `End`.
    pub(super) const MAX_TAKEN: usize = usize::MAX >> TAG_BITS;

    pub(super) const fn to_word(self) -> *mut Waiter {
        match self {
            Next::End { taken } => ptr::without_provenance_mut(taken << TAG_BITS | END),
            Next::Waiter { waiter, marked: false } => waiter,
            Next::Waiter { waiter, marked: true } => waiter.wrapping_byte_add(MARKED),
        }
    }

    pub(super) fn from_word(word: *mut Waiter) -> Self {
        let address = word.addr();
        if address & END != 0 {
            return Next::End { taken: address >> TAG_BITS };
        }
        let marked = address & MARKED != 0;
        Next::Waiter { waiter: word.map_addr(|address| address & !MARKED), marked }
    }
}
