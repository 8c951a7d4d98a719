//! Fork-join with rayon: the blocks are halved down to one.

use std::ops::Range;

use super::kernel::Tally;
use super::serial;

/// The tally of the blocks.
pub(super) fn count(blocks: Range<u64>) -> Tally {
    let Range { start, end } = blocks;
    if end - start <= 1 {
        return serial::count(blocks);
    }
    let middle = start.midpoint(end);
    let (left, right) = rayon::join(|| count(start..middle), || count(middle..end));
    left.plus(&right)
}
