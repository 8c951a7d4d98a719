//! Fork-join on an explicit Locksley worker.

use locksley::Worker;

use super::node::{Shape, work};

/// Visits a tree of the given height and counts its nodes.
pub(super) fn count(worker: &Worker, shape: &Shape, height: usize) -> u64 {
    work();
    if height == 1 {
        return 1;
    }
    let in_series = (0..shape.series).fold(1, |nodes, _| nodes + count(worker, shape, height - 1));
    in_series + children(worker, shape, height - 1, shape.parallel())
}

/// Visits `number` siblings in parallel.
fn children(worker: &Worker, shape: &Shape, height: usize, number: usize) -> u64 {
    match number {
        0 => 0,
        1 => count(worker, shape, height),
        _ => {
            let half = number / 2;
            let (left, right) = worker.join(
                |worker| children(worker, shape, height, half),
                |worker| children(worker, shape, height, number - half),
            );
            left + right
        }
    }
}
