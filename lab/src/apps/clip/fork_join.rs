//! Fork-join of either library: the pairs are halved down to a leaf.

use super::kernel::{Areas, LEAF_PAIRS};
use super::polygon::Pair;
use super::serial;
use crate::apps::fork::Fork;

/// Computes the areas of each pair.
pub(super) fn clip(fork: &impl Fork, pairs: &[Pair], areas: &mut [Areas]) {
    if pairs.len() <= LEAF_PAIRS {
        return serial::clip(pairs, areas);
    }
    let half = pairs.len() / 2;
    let (left, right) = pairs.split_at(half);
    let (left_areas, right_areas) = areas.split_at_mut(half);
    fork.join(|fork| clip(fork, left, left_areas), |fork| clip(fork, right, right_areas));
}
