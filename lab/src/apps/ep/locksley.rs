//! Fork-join on an explicit Locksley worker: the blocks are halved down to one.

use std::ops::Range;

use locksley::Worker;

use super::kernel::Tally;
use super::serial;

/// The tally of the blocks.
pub(super) fn count(worker: &Worker, blocks: Range<u64>) -> Tally {
    let Range { start, end } = blocks;
    if end - start <= 1 {
        return serial::count(blocks);
    }
    let middle = start.midpoint(end);
    let (left, right) =
        worker.join(|worker| count(worker, start..middle), |worker| count(worker, middle..end));
    left.plus(&right)
}
