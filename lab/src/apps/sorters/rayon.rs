//! Fork-join with `rayon::join`, which knows no places.

use std::ops::Range;

use super::{Division, halves, merged, sorted};

/// What these sorters have, sorted.
pub(super) fn sort(division: &Division, input: &[u32], sorters: Range<usize>) -> Vec<u32> {
    match halves(&sorters) {
        None => sorted(division.part(input, sorters.start)),
        Some([left, right]) => {
            let (left, right) =
                rayon::join(|| sort(division, input, left), || sort(division, input, right));
            merged(&left, &right)
        }
    }
}
