//! The answer is checked by its residual: L·(U·x) is compared with A·x for a random vector x, in n²
//! steps.

use crate::apps::blocks::{Block, SIDE, apply};
use crate::apps::check::{near, vector};

/// What rounding may leave, relative to n²: the sums have n terms, and the numbers of |L|·|U| add
/// up to no more than some n in a row, for the diagonal outweighs all others.
const TOLERANCE: f64 = 64.0 * f64::EPSILON;

/// Whether the residual of a = l·u is no more than rounding explains; the factors share their
/// memory.
pub(super) fn residual(a: &[Block], factors: &[Block], seed: u64) -> Result<(), String> {
    let n = a.len().isqrt() * SIDE;
    let x = vector(n, seed);
    let expected = apply(a, &x, |_, _, number| number);
    let upper = apply(factors, &x, |row, column, number| if row <= column { number } else { 0.0 });
    let found = apply(factors, &upper, |row, column, number| {
        if row == column {
            1.0
        } else if row > column {
            number
        } else {
            0.0
        }
    });
    let limit = TOLERANCE * (n * n) as f64;
    near(&found, &expected, limit, ["L·(U·x)", "A·x"])
}

#[cfg(test)]
mod tests {
    use super::super::{dominant, fork_join};
    use super::*;
    use crate::apps::blocks::layout::index;
    use crate::fork::Serial;

    fn number(matrix: &[Block], row: usize, column: usize) -> f64 {
        matrix[index(row / SIDE, column / SIDE)].0[row % SIDE * SIDE + column % SIDE]
    }

    #[test]
    fn the_factors_are_the_textbook_ones() {
        let blocks = 4;
        let matrix = dominant(blocks, 3);
        let mut factors = matrix.clone();
        fork_join::factor(&Serial, &mut factors);
        let n = blocks * SIDE;
        let mut expected: Vec<Vec<f64>> =
            (0..n).map(|row| (0..n).map(|column| number(&matrix, row, column)).collect()).collect();
        for k in 0..n {
            let pivots = expected[k].clone();
            for row in &mut expected[k + 1..] {
                row[k] /= pivots[k];
                for column in k + 1..n {
                    row[column] -= row[k] * pivots[column];
                }
            }
        }
        for (row, numbers) in expected.iter().enumerate() {
            for (column, expected) in numbers.iter().enumerate() {
                let found = number(&factors, row, column);
                assert!((found - expected).abs() < 1e-12, "{row} {column}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_wrong_number_is_rejected() {
        let matrix = dominant(4, 9);
        let mut right = matrix.clone();
        fork_join::factor(&Serial, &mut right);
        assert!(residual(&matrix, &right, 1).is_ok());
        // In the diagonal blocks, in U, in L, and what is no number.
        for (block, at, wrong) in [
            (0, 0, 1e-6),
            (15, 255, -1e-6),
            (index(1, 3), 200, 1e-6),
            (index(3, 0), 17, 1e-6),
            (3, 17, f64::NAN),
            (12, 1, f64::INFINITY),
        ] {
            let mut factors = right.clone();
            factors[block].0[at] += wrong;
            assert!(residual(&matrix, &factors, 1).is_err(), "{block} {at} {wrong}");
        }
    }

    #[test]
    fn a_block_that_was_left_out_is_rejected() {
        let matrix = dominant(4, 2);
        let mut right = matrix.clone();
        fork_join::factor(&Serial, &mut right);
        for block in 0..matrix.len() {
            let mut factors = right.clone();
            factors[block] = matrix[block];
            // The first row of blocks of U is that of A, but for the block in which L begins.
            let is_the_same = right[block] == matrix[block];
            assert_eq!(residual(&matrix, &factors, 1).is_ok(), is_the_same, "{block}");
        }
    }
}
