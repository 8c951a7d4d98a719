//! A semaphore's one word.

use std::ptr::{self, NonNull};

use super::crowd::Crowd;
use super::line::Waiter;

/// What a semaphore's word says. It changes along the arrows only, and each change is one
/// compare-and-swap:
///
/// ```text
///         take, give                            give (in part)
///        +---------+     one begins to wait      +---------+
///        |         v   ---------------------->   |         v
///        +----- free                             +------ alone
///                  |   <----------------------             |
///                  |    give (all), or it leaves           |
///                  |                                       |
///                  +-------------> crowd <-----------------+
///                         a second one waits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// So many permits can be taken, and nobody waits.
    Free { permits: usize, is_closed: bool },
    /// One waits, for whom so many are missing. `has_some`: it has been given others already.
    Alone { waiter: NonNull<Waiter>, missing: usize, has_some: bool },
    /// Several wait, or have: whatever is to be known is known there. For good.
    Crowd(NonNull<Crowd>),
}

// Bits 0 and 1 tell which it is; the addresses of waiters have four free bits, and that of a crowd
// has two.
const FREE: usize = 1;
const CROWD: usize = 2;
const KIND: usize = 3;
const FREE_CLOSED: usize = 1 << 1;
const FREE_PERMITS: u32 = 2;
const HAS_SOME: usize = 1 << 2;
const MISSING: u32 = 3;
const ALONE_FACTS: usize = align_of::<Waiter>() - 1;
const _: () = assert!((Word::MOST_MISSING - 1) << MISSING <= ALONE_FACTS);
const _: () = assert!(align_of::<Crowd>() > KIND);

impl Word {
    /// As many as may be missing for one who is alone: more do not fit into an address that the
    /// allocator gives without waste.
    pub(super) const MOST_MISSING: usize = 2;
    /// As many permits as can be free.
    pub(super) const MOST_FREE: usize = usize::MAX >> 3;

    /// The word of a semaphore where nobody waits.
    pub(super) const fn free(permits: usize, is_closed: bool) -> *mut () {
        let closed = if is_closed { FREE_CLOSED } else { 0 };
        ptr::without_provenance_mut(permits << FREE_PERMITS | closed | FREE)
    }

    pub(super) fn word(self) -> *mut () {
        match self {
            Word::Free { permits, is_closed } => Self::free(permits, is_closed),
            Word::Alone { waiter, missing, has_some } => {
                debug_assert!((1..=Self::MOST_MISSING).contains(&missing));
                let facts = (missing - 1) << MISSING | if has_some { HAS_SOME } else { 0 };
                waiter.as_ptr().wrapping_byte_add(facts).cast()
            }
            Word::Crowd(crowd) => crowd.as_ptr().wrapping_byte_add(CROWD).cast(),
        }
    }

    pub(super) fn of(word: *mut ()) -> Self {
        let address = word.addr();
        if address & FREE != 0 {
            let is_closed = address & FREE_CLOSED != 0;
            return Word::Free { permits: address >> FREE_PERMITS, is_closed };
        }
        let pointer = |facts: usize| {
            NonNull::new(word.map_addr(|a| a & !facts)).expect("made of a pointer to something")
        };
        if address & CROWD != 0 {
            return Word::Crowd(pointer(KIND).cast());
        }
        let missing = ((address & ALONE_FACTS) >> MISSING) + 1;
        let has_some = address & HAS_SOME != 0;
        Word::Alone { waiter: pointer(ALONE_FACTS).cast(), missing, has_some }
    }
}
