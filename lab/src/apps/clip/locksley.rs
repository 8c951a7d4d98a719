//! Fork-join on an explicit Locksley worker: the pairs are halved down to a leaf.

use locksley::Worker;

use super::kernel::{Areas, LEAF_PAIRS};
use super::polygon::Pair;
use super::serial;

/// Computes the areas of each pair.
pub(super) fn clip(worker: &Worker, pairs: &[Pair], areas: &mut [Areas]) {
    if pairs.len() <= LEAF_PAIRS {
        return serial::clip(pairs, areas);
    }
    let half = pairs.len() / 2;
    let (left, right) = pairs.split_at(half);
    let (left_areas, right_areas) = areas.split_at_mut(half);
    worker.join(|worker| clip(worker, left, left_areas), |worker| clip(worker, right, right_areas));
}
