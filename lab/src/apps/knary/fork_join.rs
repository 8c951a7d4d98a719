//! Fork-join of either library, or all children in series.

use super::node::{Shape, work};
use crate::fork::Fork;

/// Visits a tree of the given height and counts its nodes.
pub(super) fn count<F: Fork>(fork: &F, shape: &Shape, height: usize) -> u64 {
    work();
    if height == 1 {
        return 1;
    }
    let series = if F::IS_PARALLEL { shape.series } else { shape.degree };
    let in_series = (0..series).fold(1, |nodes, _| nodes + count(fork, shape, height - 1));
    in_series + children(fork, shape, height - 1, shape.degree - series)
}

/// Visits `number` siblings in parallel.
fn children<F: Fork>(fork: &F, shape: &Shape, height: usize, number: usize) -> u64 {
    match number {
        0 => 0,
        1 => count(fork, shape, height),
        _ => {
            let half = number / 2;
            let (left, right) = fork.join(
                |fork| children(fork, shape, height, half),
                |fork| children(fork, shape, height, number - half),
            );
            left + right
        }
    }
}
