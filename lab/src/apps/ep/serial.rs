//! The serial program.

use std::ops::Range;

use super::kernel::{self, Tally};

/// The tally of the blocks.
pub(super) fn count(blocks: Range<u64>) -> Tally {
    blocks.fold(Tally::NONE, |tally, block| tally.plus(&kernel::count(block)))
}
