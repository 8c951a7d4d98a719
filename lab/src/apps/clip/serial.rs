//! The serial program.

use super::kernel::{Areas, Sweep};
use super::polygon::Pair;

/// Computes the areas of each pair, one after the other.
pub(super) fn clip(pairs: &[Pair], areas: &mut [Areas]) {
    Sweep::default().clip(pairs, areas);
}
