//! The word of a semaphore.

use std::ptr::{self, NonNull};

use super::queue::PermitQueue;
use crate::wait_queue::Waiter;

/// The state of a semaphore, in one word. Each transition is one compare-and-swap:
///
/// ```text
///                    a task waits for one permit
///            free  ------------------------------->  single
///         acquire,  <-------------------------------
///         release     release, close, cancellation      |
///              |                                        |
///              +-----------------> queue <--------------+
///                  a task waits for many permits, or another task waits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// No task waits.
    Free { permits: usize, is_closed: bool },
    /// One task waits, for one permit, and no permit is free.
    Single(NonNull<Waiter>),
    /// The state is in the queue. Final.
    Queue(NonNull<PermitQueue>),
}

// Bits 0 and 1 of an address are free.
const FREE: usize = 1;
const QUEUE: usize = 2;
const KIND: usize = 3;
const FREE_CLOSED: usize = 1 << 1;
const FREE_PERMITS: u32 = 2;
const _: () = assert!(align_of::<Waiter>() > KIND && align_of::<PermitQueue>() > KIND);

impl Word {
    pub(super) const MAX_FREE: usize = usize::MAX >> 3;
    pub(super) const EMPTY: Self = Word::Free { permits: 0, is_closed: false };

    pub(super) const fn to_raw(self) -> *mut () {
        match self {
            Word::Free { permits, is_closed } => {
                let closed = if is_closed { FREE_CLOSED } else { 0 };
                ptr::without_provenance_mut(permits << FREE_PERMITS | closed | FREE)
            }
            Word::Single(waiter) => waiter.as_ptr().cast(),
            Word::Queue(queue) => queue.as_ptr().wrapping_byte_add(QUEUE).cast(),
        }
    }

    pub(super) fn from_raw(raw: *mut ()) -> Self {
        let address = raw.addr();
        if address & FREE != 0 {
            let is_closed = address & FREE_CLOSED != 0;
            return Word::Free { permits: address >> FREE_PERMITS, is_closed };
        }
        let pointer = NonNull::new(raw.map_addr(|address| address & !KIND)).expect("never null");
        if address & QUEUE != 0 {
            Word::Queue(pointer.cast())
        } else {
            Word::Single(pointer.cast())
        }
    }
}
