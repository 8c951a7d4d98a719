//! The word of a deque that is changed by compare-and-swap.
//!
//! | bits  | field      | changes when                                                      |
//! |-------|------------|-------------------------------------------------------------------|
//! | 0–31  | `turns`    | the deque is closed (to an odd number), opened (to an even one)   |
//! | 32–63 | `oldest`   | the oldest item is taken: its index, plus 1                       |
//!
//! Both wrap. A compare-and-swap is deceived if the word comes round to the same value while a thread is suspended:
//! after a multiple of 2³² items taken from this end and a multiple of 2³² turns, none of either included. A thread
//! would have to be suspended for minutes in which nothing else is done, and to go on at exactly that item.

use std::fmt;

const OLDEST: u32 = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Age(pub(super) u64);

impl Age {
    /// Of an empty deque that is open.
    pub(super) const NEW: Self = Self(0);

    fn turns(self) -> u32 {
        self.0 as u32
    }

    fn oldest(self) -> u32 {
        (self.0 >> OLDEST) as u32
    }

    pub(super) fn is_closed(self) -> bool {
        self.0 & 1 == 1
    }

    /// How many items there are below `bottom`: 0 or less if none.
    pub(super) fn items_below(self, bottom: i64) -> i64 {
        i64::from((bottom as u32).wrapping_sub(self.oldest()) as i32)
    }

    /// The index of the oldest item, modulo 2³²: what thieves know of it.
    pub(super) fn oldest_index(self) -> i64 {
        i64::from(self.oldest())
    }

    pub(super) fn with_oldest_taken(self) -> Self {
        Self(self.0.wrapping_add(1 << OLDEST))
    }

    /// Closed if it was open, open if it was closed.
    pub(super) fn turned(self) -> Self {
        Self(u64::from(self.oldest()) << OLDEST | u64::from(self.turns().wrapping_add(1)))
    }
}

impl fmt::Debug for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Age").field("oldest", &self.oldest()).field("turns", &self.turns()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Age;

    #[test]
    fn both_fields_wrap_apart() {
        let last_turn = Age(7 << 32 | u64::from(u32::MAX));
        assert!(last_turn.is_closed());
        assert_eq!(last_turn.turned(), Age(7 << 32));
        let last_index = Age(u64::from(u32::MAX) << 32 | 2);
        assert_eq!(last_index.with_oldest_taken(), Age(2));
    }

    #[test]
    fn items_are_counted_across_the_wrap() {
        let age = Age(u64::from(u32::MAX) << 32);
        let bottom = i64::from(u32::MAX);
        assert_eq!(age.items_below(bottom - 1), -1);
        assert_eq!(age.items_below(bottom), 0);
        assert_eq!(age.items_below(bottom + 3), 3);
        assert_eq!(age.with_oldest_taken().items_below(bottom + 3), 2);
    }
}
