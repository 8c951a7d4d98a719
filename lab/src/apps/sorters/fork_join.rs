//! Fork-join with `rayon::join`, which knows no places, or serial.

use std::ops::Range;

use super::{Division, halves, merged, sorted};
use crate::fork::Fork;

/// What these sorters have, sorted.
pub(super) fn sort(
    fork: &impl Fork,
    division: &Division,
    input: &[u32],
    sorters: Range<usize>,
) -> Vec<u32> {
    let Some([left, right]) = halves(&sorters) else {
        return sorted(division.part(input, sorters.start));
    };
    let (left, right) = fork
        .join(|fork| sort(fork, division, input, left), |fork| sort(fork, division, input, right));
    merged(&left, &right)
}
