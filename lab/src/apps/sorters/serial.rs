//! The serial program.

use std::ops::Range;

use super::{Division, halves, merged, sorted};

/// What these sorters have, sorted.
pub(super) fn sort(division: &Division, input: &[u32], sorters: Range<usize>) -> Vec<u32> {
    match halves(&sorters) {
        None => sorted(division.part(input, sorters.start)),
        Some([left, right]) => merged(&sort(division, input, left), &sort(division, input, right)),
    }
}
