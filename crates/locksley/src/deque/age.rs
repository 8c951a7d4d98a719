//! The word of a deque that changes by compare-and-swap.
//!
//! | bits  | field    | meaning                    | grows by one when                   |
//! |-------|----------|----------------------------|-------------------------------------|
//! | 0–31  | `epoch`  | odd if the deque is closed | the deque is closed or opened       |
//! | 32–63 | `oldest` | the index of the oldest    | the oldest item is taken            |
//!
//! Both wrap. A compare-and-swap is wrong only if the word returns to the same value while a thread
//! is suspended before it: after exactly a multiple of 2³² steals and a multiple of 2³² epochs.
//! That takes minutes of nothing else, and the thread would have to continue at exactly that item.

const OLDEST: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Age(pub(super) u64);

impl Age {
    /// The age of an empty, open deque.
    pub(super) const NEW: Self = Self(0);

    fn epoch(self) -> u32 {
        self.0 as u32
    }

    /// The index of the oldest item, modulo 2³².
    pub(super) fn oldest(self) -> u32 {
        (self.0 >> OLDEST) as u32
    }

    pub(super) fn is_closed(self) -> bool {
        self.0 & 1 == 1
    }

    /// The number of items below `bottom`. 0 or less if there is none.
    pub(super) fn items_below(self, bottom: i64) -> i64 {
        i64::from((bottom as u32).wrapping_sub(self.oldest()) as i32)
    }

    pub(super) fn with_oldest_taken(self) -> Self {
        Self(self.0.wrapping_add(1 << OLDEST))
    }

    /// Open if it was closed, closed if it was open.
    pub(super) fn with_next_epoch(self) -> Self {
        Self(u64::from(self.oldest()) << OLDEST | u64::from(self.epoch().wrapping_add(1)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Age;

    #[test]
    fn each_field_wraps_without_changing_the_other() {
        let last_epoch = Age(7 << 32 | u64::from(u32::MAX));
        assert!(last_epoch.is_closed());
        assert_eq!(last_epoch.with_next_epoch(), Age(7 << 32));
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
