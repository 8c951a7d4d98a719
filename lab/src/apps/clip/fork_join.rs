//! Fork-join of either library, or serial: the pairs are halved down to a leaf.

use super::kernel::{Areas, LEAF_PAIRS, Sweep};
use super::polygon::Pair;
use crate::fork::{Fork, reduce};

/// Computes the areas of each pair.
pub(super) fn clip(fork: &impl Fork, pairs: &[Pair], areas: &mut [Areas]) {
    let leaf = |(pairs, areas): (&[Pair], &mut [Areas])| Sweep::default().clip(pairs, areas);
    reduce(fork, (pairs, areas), LEAF_PAIRS, leaf, |(), ()| ());
}
