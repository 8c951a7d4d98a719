//! The product of two blocks, in which nearly all of the time is spent.

use super::{Block, SIDE};

/// Blocks of a leaf of the parallel recursions: 64 by 64 numbers, some tens of microseconds.
pub(in crate::apps) const LEAF_BLOCKS: usize = 16;

/// Columns and rows of C that are kept in registers.
const TILE: usize = 4;

/// c += a·b. Never inlined, so that all versions execute the same code.
#[inline(never)]
pub(in crate::apps) fn multiply_add(c: &mut Block, a: &Block, b: &Block) {
    combine(c, a, b, |c, product| c + product);
}

/// c −= a·b. Never inlined, so that all versions execute the same code.
#[inline(never)]
pub(in crate::apps) fn multiply_subtract(c: &mut Block, a: &Block, b: &Block) {
    combine(c, a, b, |c, product| c - product);
}

/// Replaces each number of c by what `with` makes of it and of that number of a·b.
#[inline(always)]
fn combine(c: &mut Block, a: &Block, b: &Block, with: impl Fn(f64, f64) -> f64) {
    for top in (0..SIDE).step_by(TILE) {
        for left in (0..SIDE).step_by(TILE) {
            let mut tile = [[0.0; TILE]; TILE];
            for k in 0..SIDE {
                let row = &b.0[k * SIDE + left..][..TILE];
                for (i, sums) in tile.iter_mut().enumerate() {
                    let factor = a.0[(top + i) * SIDE + k];
                    for (sum, number) in sums.iter_mut().zip(row) {
                        *sum += factor * number;
                    }
                }
            }
            for (i, sums) in tile.iter().enumerate() {
                let out = &mut c.0[(top + i) * SIDE + left..][..TILE];
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = with(*out, *sum);
                }
            }
        }
    }
}
