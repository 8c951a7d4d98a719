//! Fork-join of either library: the blocks are halved down to one.

use std::ops::Range;

use super::kernel::Tally;
use super::serial;
use crate::fork::Fork;

/// The tally of the blocks.
pub(super) fn count(fork: &impl Fork, blocks: Range<u64>) -> Tally {
    let Range { start, end } = blocks;
    if end - start <= 1 {
        return serial::count(blocks);
    }
    let middle = start.midpoint(end);
    let (left, right) =
        fork.join(|fork| count(fork, start..middle), |fork| count(fork, middle..end));
    left.plus(&right)
}
