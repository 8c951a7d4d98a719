//! Fork-join with rayon.

use super::node::{Shape, work};

/// Visits a tree of the given height and counts its nodes.
pub(super) fn count(shape: &Shape, height: usize) -> u64 {
    work();
    if height == 1 {
        return 1;
    }
    let in_series = (0..shape.series).fold(1, |nodes, _| nodes + count(shape, height - 1));
    in_series + children(shape, height - 1, shape.parallel())
}

/// Visits `number` siblings in parallel.
fn children(shape: &Shape, height: usize, number: usize) -> u64 {
    match number {
        0 => 0,
        1 => count(shape, height),
        _ => {
            let half = number / 2;
            let (left, right) = rayon::join(
                || children(shape, height, half),
                || children(shape, height, number - half),
            );
            left + right
        }
    }
}
