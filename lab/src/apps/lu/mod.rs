//! `lu(n)`: the factors L and U of a dense n by n matrix A of doubles, without pivoting, in blocks
//! of 16 by 16. L, with a diagonal of ones, and U take the place of A. Most of the work is in
//! products of blocks, but unlike in `mm` these wait for one another: with quarters named by row
//! and column,
//!
//! ```text
//!     A00 = L00·U00          factored first
//!     A01 = L00·U01          solved for U01 ┐ these two
//!     A10 = L10·U00          solved for L10 ┘ in parallel
//!     A11 − L10·U01          updated, then factored
//! ```

mod fork_join;
mod intervals;
mod kernel;
mod static_partition;

use std::cmp::Ordering;

use locksley_intervals::Root;

use super::blocks::{self, Block, SIDE, apply, layout};
use super::check::{near, vector};
use crate::apps::prelude::*;

/// The application.
pub static APP: App = App {
    name: "lu",
    about: "LU factors of a dense N by N matrix in 16 by 16 blocks, no pivoting; N is 16 times \
        a power of two",
    syntax: "N",
    paper_size: "2048",
    bws_size: None,
    quick_size: "512",
    has_static: true,
    has_intervals: true,
    problem: |parameters| {
        let blocks = blocks::blocks_along(parameters)?;
        if !blocks.is_power_of_two() {
            return Err("N must be 16 times a power of two, such as 1024".to_owned());
        }
        // The matrix, and its factors in a copy.
        let bytes = size::product(&[2, blocks, blocks, size_of::<Block>()]);
        Ok(Problem::new(bytes, move |seed| {
            let matrix = dominant(blocks, seed);
            Factoring { factors: matrix.clone(), matrix, seed }
        }))
    },
};

/// A random matrix with a diagonal that outweighs the rest of each row: it has factors without
/// pivoting, and rounding does not grow in them.
fn dominant(blocks: usize, seed: u64) -> Vec<Block> {
    let mut matrix = blocks::random(blocks, &mut Random::new(seed));
    for along in 0..blocks {
        let block = &mut matrix[layout::index(along, along)];
        for i in 0..SIDE {
            block.0[i * SIDE + i] += (blocks * SIDE) as f64;
        }
    }
    matrix
}

#[derive(Clone)]
struct Factoring {
    matrix: Vec<Block>,
    factors: Vec<Block>,
    seed: u64,
}

impl Instance for Factoring {
    fn reset(&mut self) {
        self.factors.copy_from_slice(&self.matrix);
    }

    fn intervals(&mut self, pool: &::locksley::Pool) -> Option<()> {
        intervals::factor(intervals::MOST, || Root::new("lu").on(pool), &mut self.factors);
        Some(())
    }

    fork_join!(self, fork => fork_join::factor(fork, &mut self.factors));

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::factor(team, &mut self.factors))
    }

    fn check(&self) -> Result<(), String> {
        residual(&self.matrix, &self.factors, self.seed)
    }
}

/// What rounding may leave, relative to n²: the sums have n terms, and the numbers of |L|·|U| add
/// up to no more than some n in a row, for the diagonal outweighs all others.
const TOLERANCE: f64 = 64.0 * f64::EPSILON;

/// Whether the residual of a = l·u is no more than rounding explains: L·(U·x) is compared with A·x
/// for a random vector x, in n² steps. The factors share their memory.
fn residual(a: &[Block], factors: &[Block], seed: u64) -> Result<(), String> {
    let n = a.len().isqrt() * SIDE;
    let x = vector(n, seed);
    let expected = apply(a, &x, |_, _, number| number);
    let upper = apply(factors, &x, |row, column, number| if row <= column { number } else { 0.0 });
    let found = apply(factors, &upper, |row, column, number| match row.cmp(&column) {
        Ordering::Equal => 1.0,
        Ordering::Greater => number,
        Ordering::Less => 0.0,
    });
    let limit = TOLERANCE * (n * n) as f64;
    near(&found, &expected, limit, ["L·(U·x)", "A·x"])
}

#[cfg(test)]
mod tests {
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
