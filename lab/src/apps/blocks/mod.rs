//! Square matrices of doubles in blocks of 16 by 16 along a Z curve, which `mm` and `lu` compute
//! with. A quarter of a matrix is then a quarter of its memory, so divide and conquer needs nothing
//! but to split slices.

use crate::apps::prelude::*;

pub(super) mod layout;
pub(super) mod product;

/// The side of a block.
pub(super) const SIDE: usize = 16;

/// 16 by 16 numbers, row by row.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(super) struct Block(pub(super) [f64; SIDE * SIDE]);

impl Block {
    /// All zeros.
    pub(super) const ZERO: Block = Block([0.0; SIDE * SIDE]);
}

/// Reads the side of a matrix and returns the number of blocks along it.
pub(super) fn blocks_along(parameters: &str) -> Result<usize, String> {
    let [n] = size::numbers(parameters, 'x', 1)?;
    if n % SIDE != 0 {
        return Err(format!("N must be a multiple of {SIDE}, such as 1024"));
    }
    Ok(n / SIDE)
}

/// A square of random blocks, so many each way, and of padding up to a power of two.
pub(super) fn random(blocks: usize, random: &mut Random) -> Vec<Block> {
    let side = blocks.next_power_of_two();
    let block = |at| {
        let (row, column) = layout::place(at);
        match row.max(column) < blocks {
            true => Block(std::array::from_fn(|_| random.next_signed())),
            false => Block::ZERO,
        }
    };
    (0..side * side).map(block).collect()
}

/// The product with x of the matrix that `part` makes of each number, its row and its column.
pub(super) fn apply(
    matrix: &[Block],
    x: &[f64],
    part: impl Fn(usize, usize, f64) -> f64,
) -> Vec<f64> {
    let mut product = vec![0.0; x.len()];
    for (at, block) in matrix.iter().enumerate() {
        let (top, left) = layout::place(at);
        for (row, numbers) in (top * SIDE..).zip(block.0.chunks_exact(SIDE)) {
            for (column, &number) in (left * SIDE..).zip(numbers) {
                product[row] += part(row, column, number) * x[column];
            }
        }
    }
    product
}
