//! The numbers of cache lines: from addresses of the host, in the order of first use.
//!
//! Numbers and not addresses decide what a run does. So address-space randomization changes
//! nothing: pages move as a whole.

use std::collections::HashMap;

use crate::arena::outside;
use crate::ids::LineIndex;

/// Pages of 64 lines, whatever the host's are.
const LINE_BITS: u32 = 6;
const PAGE_BITS: u32 = LINE_BITS + 6;
/// The first page of the cache; a power of two.
const CACHED: usize = 1 << 12;

/// The most lines that code may touch by atomics: 1 GiB of them.
pub(crate) const MAX_LINES: usize = 1 << 24;

/// The number of each line that was used.
pub(crate) struct LineNumbers {
    /// Page addresses and their numbers, by the low bits of the address.
    cache: Box<[(usize, u32); CACHED]>,
    pages: HashMap<usize, u32>,
}

impl LineNumbers {
    pub(crate) fn new() -> Self {
        Self { cache: Box::new([(usize::MAX, 0); CACHED]), pages: HashMap::new() }
    }

    /// The number of the line at an address.
    #[inline(always)]
    pub(crate) fn of(&mut self, address: usize) -> LineIndex {
        let page = address >> PAGE_BITS;
        let (cached, number) = self.cache[page % CACHED];
        let number = if cached == page { number } else { self.look_up(page) };
        LineIndex(number << 6 | (address >> LINE_BITS) as u32 & 63)
    }

    #[cold]
    fn look_up(&mut self, page: usize) -> u32 {
        let next = self.pages.len();
        let number = outside(|| *self.pages.entry(page).or_insert(next as u32));
        assert!((number as usize) < MAX_LINES / 64, "atomics lie on too many pages");
        self.cache[page % CACHED] = (page, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_page_are_in_order_and_pages_in_the_order_of_use() {
        let mut lines = LineNumbers::new();
        let base = 0x7000_0000_0000;
        assert_eq!(lines.of(base + 130).0, 2);
        assert_eq!(lines.of(base + 191).0, 2);
        assert_eq!(lines.of(base + 192).0, 3);
        // The same place in the cache.
        let far = base + (CACHED << PAGE_BITS);
        assert_eq!(lines.of(far).0, 64);
        assert_eq!(lines.of(base).0, 0);
        assert_eq!(lines.of(far + 4095).0, 127);
        assert_eq!(lines.of(base - 1).0, 128 + 63);
    }
}
