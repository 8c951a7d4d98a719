//! The product of two blocks, in which nearly all of the time is spent.

use super::layout::{quarters, quarters_mut};
use super::{Block, SIDE};
use crate::fork::{Fork, Serial};

/// Blocks of a leaf of the parallel recursions: 64 by 64 numbers, some tens of microseconds.
pub(in crate::apps) const LEAF_BLOCKS: usize = 16;

/// Columns and rows of C that are kept in registers.
const TILE: usize = 4;

/// c += a·b. Never inlined, so that all versions execute the same code.
#[inline(never)]
pub(in crate::apps) fn multiply_add(c: &mut Block, a: &Block, b: &Block) {
    with_product(c, a, b, |c, product| c + product);
}

/// c −= a·b. Never inlined, so that all versions execute the same code.
#[inline(never)]
pub(in crate::apps) fn multiply_subtract(c: &mut Block, a: &Block, b: &Block) {
    with_product(c, a, b, |c, product| c - product);
}

/// How many blocks of a product are used, in rows of C, columns of C, and columns of A. The others
/// are padding up to a power of two.
#[derive(Debug, Clone, Copy)]
pub(in crate::apps) struct Extent([usize; 3]);

impl Extent {
    /// All of square matrices with so many blocks along each side.
    pub(in crate::apps) fn square(blocks: usize) -> Extent {
        Extent([blocks; 3])
    }

    fn is_empty(self) -> bool {
        self.0.contains(&0)
    }

    /// What is used of the product with the quarters of C and A that begin at these halves, of
    /// matrices of so many blocks.
    fn part(self, all: usize, halves: [usize; 3]) -> Extent {
        let half = all.isqrt() / 2;
        let part = |at: usize| match halves[at] {
            0 => self.0[at].min(half),
            _ => self.0[at].saturating_sub(half),
        };
        Extent([part(0), part(1), part(2)])
    }
}

/// The quarters of C by their halves: the row, the column, and the order of both halves of A.
const QUARTERS: [(usize, usize, [usize; 2]); 4] =
    [(0, 0, [0, 1]), (0, 1, [1, 0]), (1, 1, [0, 1]), (1, 0, [1, 0])];

/// Does to c, a and b what `leaf` does to one block of each: divide and conquer down to one block,
/// so that every level of cache has its size of it. The quarters of c are computed in parallel, and
/// the two products of each in series.
pub(in crate::apps) fn combine<F: Fork>(
    fork: &F,
    c: &mut [Block],
    a: &[Block],
    b: &[Block],
    extent: Extent,
    leaf: impl Fn(&mut Block, &Block, &Block) + Copy + Send + Sync,
) {
    if extent.is_empty() {
        return;
    }
    if let ([c], [a], [b]) = (&mut *c, a, b) {
        return leaf(c, a, b);
    }
    if F::IS_PARALLEL && c.len() <= LEAF_BLOCKS {
        return combine(&Serial, c, a, b, extent, leaf);
    }
    let all = c.len();
    let [c00, c01, c10, c11] = quarters_mut(c);
    let (a, b) = (quarters(a), quarters(b));
    let quarter = |fork: &F, c: &mut [Block], number: usize| {
        let (row, column, inner) = QUARTERS[number];
        for k in inner {
            let extent = extent.part(all, [row, column, k]);
            combine(fork, c, a[2 * row + k], b[2 * k + column], extent, leaf);
        }
    };
    fork.join(
        |fork| fork.join(|fork| quarter(fork, c00, 0), |fork| quarter(fork, c01, 1)),
        |fork| fork.join(|fork| quarter(fork, c11, 2), |fork| quarter(fork, c10, 3)),
    );
}

/// Replaces each number of c by what `with` makes of it and of that number of a·b.
#[inline(always)]
fn with_product(c: &mut Block, a: &Block, b: &Block, with: impl Fn(f64, f64) -> f64) {
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
