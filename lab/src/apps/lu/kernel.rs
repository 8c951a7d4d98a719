//! What every version does to a block. None is inlined, so that all versions execute the same code.

use crate::apps::blocks::{Block, SIDE};

/// Replaces a block by its factors.
#[inline(never)]
pub(super) fn factor(block: &mut Block) {
    for k in 0..SIDE {
        let (above, below) = block.0.split_at_mut((k + 1) * SIDE);
        let pivots = &above[k * SIDE..];
        for row in below.chunks_exact_mut(SIDE) {
            let (solved, rest) = row.split_at_mut(k + 1);
            solved[k] /= pivots[k];
            subtract_multiple(rest, solved[k], &pivots[k + 1..]);
        }
    }
}

/// Replaces `block` by the solution of lower·x = block, where `lower` has ones on its diagonal.
#[inline(never)]
pub(super) fn solve_lower(block: &mut Block, lower: &Block) {
    for k in 0..SIDE {
        let (above, below) = block.0.split_at_mut((k + 1) * SIDE);
        let solved = &above[k * SIDE..];
        for (i, row) in (k + 1..).zip(below.chunks_exact_mut(SIDE)) {
            subtract_multiple(row, lower.0[i * SIDE + k], solved);
        }
    }
}

/// Replaces `block` by the solution of x·upper = block.
#[inline(never)]
pub(super) fn solve_upper(block: &mut Block, upper: &Block) {
    for row in block.0.chunks_exact_mut(SIDE) {
        for (k, pivots) in upper.0.chunks_exact(SIDE).enumerate() {
            let (solved, rest) = row.split_at_mut(k + 1);
            solved[k] /= pivots[k];
            subtract_multiple(rest, solved[k], &pivots[k + 1..]);
        }
    }
}

/// row −= factor·other
#[inline(always)]
fn subtract_multiple(row: &mut [f64], factor: f64, other: &[f64]) {
    for (number, other) in row.iter_mut().zip(other) {
        *number -= factor * other;
    }
}
