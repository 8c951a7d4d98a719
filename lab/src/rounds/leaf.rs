//! The leaf: steps of xorshift64.

use std::hint::black_box;

use super::Round;

/// One leaf. The compiler does not see that all leaves are equal, so it computes each.
#[inline(never)]
pub(crate) fn run(steps: u64) -> u64 {
    let steps = black_box(steps);
    let mut x = steps | 1;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// `number` leaves in a row, and the sum of what they return.
pub(super) fn in_a_row(round: Round, number: u64) -> u64 {
    (0..number).fold(0, |sum, _| sum.wrapping_add(run(round.leaf)))
}
