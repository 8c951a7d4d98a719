//! The product of two blocks, which is all that any version computes.

/// The side of a block.
pub(super) const SIDE: usize = 16;

/// Blocks of a leaf of the parallel recursion: 64 by 64 numbers, some tens of microseconds.
pub(super) const LEAF_BLOCKS: usize = 16;

/// Columns and rows of C that are kept in registers.
const TILE: usize = 4;

/// 16 by 16 numbers, row by row.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(super) struct Block(pub(super) [f64; SIDE * SIDE]);

impl Block {
    /// All zeros.
    pub(super) const ZERO: Block = Block([0.0; SIDE * SIDE]);
}

/// c += a·b. Never inlined, so that all versions execute the same code.
#[inline(never)]
pub(super) fn multiply_add(c: &mut Block, a: &Block, b: &Block) {
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
                    *out += sum;
                }
            }
        }
    }
}
