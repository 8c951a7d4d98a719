//! The product of two blocks, in which nearly all of the time is spent.

use super::layout::{quarters, quarters_mut};
use super::{Block, SIDE};
use crate::fork::Fork;

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

/// Does to c, a and b what `leaf` does to one block of each: divide and conquer down to one block,
/// so that every level of cache has its size of it.
pub(in crate::apps) fn in_series(
    c: &mut [Block],
    a: &[Block],
    b: &[Block],
    leaf: impl Fn(&mut Block, &Block, &Block) + Copy,
) {
    if let ([c], [a], [b]) = (&mut *c, a, b) {
        return leaf(c, a, b);
    }
    let [c00, c01, c10, c11] = quarters_mut(c);
    let [a00, a01, a10, a11] = quarters(a);
    let [b00, b01, b10, b11] = quarters(b);
    in_series(c00, a00, b00, leaf);
    in_series(c00, a01, b10, leaf);
    in_series(c01, a01, b11, leaf);
    in_series(c01, a00, b01, leaf);
    in_series(c11, a10, b01, leaf);
    in_series(c11, a11, b11, leaf);
    in_series(c10, a11, b10, leaf);
    in_series(c10, a10, b00, leaf);
}

/// The same with the quarters of c in parallel, and the two products of each in series.
pub(in crate::apps) fn in_parallel<F: Fork>(
    fork: &F,
    c: &mut [Block],
    a: &[Block],
    b: &[Block],
    leaf: impl Fn(&mut Block, &Block, &Block) + Copy + Send + Sync,
) {
    if c.len() <= LEAF_BLOCKS {
        return in_series(c, a, b, leaf);
    }
    let [c00, c01, c10, c11] = quarters_mut(c);
    let [a00, a01, a10, a11] = quarters(a);
    let [b00, b01, b10, b11] = quarters(b);
    let quarter = |fork: &F, c: &mut [Block], first: [&[Block]; 2], second: [&[Block]; 2]| {
        in_parallel(fork, c, first[0], first[1], leaf);
        in_parallel(fork, c, second[0], second[1], leaf);
    };
    fork.join(
        |fork| {
            fork.join(
                |fork| quarter(fork, c00, [a00, b00], [a01, b10]),
                |fork| quarter(fork, c01, [a01, b11], [a00, b01]),
            )
        },
        |fork| {
            fork.join(
                |fork| quarter(fork, c11, [a10, b01], [a11, b11]),
                |fork| quarter(fork, c10, [a11, b10], [a10, b00]),
            )
        },
    );
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
