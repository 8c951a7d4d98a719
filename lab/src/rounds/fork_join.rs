//! The chunks are halved by joins, of Locksley or of rayon, down to one leaf.

use super::Round;
use crate::fork::Fork;

/// One round, and the sum of its leaves.
pub(super) fn once(fork: &impl Fork, round: Round) -> u64 {
    round.in_a_row(round.serial).wrapping_add(chunks(fork, round, round.chunks))
}

fn chunks(fork: &impl Fork, round: Round, number: u64) -> u64 {
    if number <= 1 {
        return round.in_a_row(number);
    }
    let half = number / 2;
    let (left, right) =
        fork.join(|fork| chunks(fork, round, half), |fork| chunks(fork, round, number - half));
    left.wrapping_add(right)
}
