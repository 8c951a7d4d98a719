//! Fork-join of either library, or serial: the blocks are halved down to one.

use std::ops::Range;

use super::kernel::{self, Tally};
use crate::fork::Fork;

/// The tally of the blocks.
pub(super) fn count<F: Fork>(fork: &F, blocks: Range<u64>) -> Tally {
    let Range { start, end } = blocks;
    if !F::IS_PARALLEL || end - start <= 1 {
        return blocks.fold(Tally::NONE, |tally, block| tally.plus(&kernel::count(block)));
    }
    let middle = start.midpoint(end);
    let (left, right) =
        fork.join(|fork| count(fork, start..middle), |fork| count(fork, middle..end));
    left.plus(&right)
}
