//! The answer is checked by Freivalds's method: C·x is compared with A·(B·x) for a random vector x, in n² steps.

use crate::apps::blocks::layout::place;
use crate::apps::blocks::{Block, SIDE};
use crate::random::Random;

/// What rounding may leave of a sum of n products of sums, relative to n² (all numbers are below one).
const TOLERANCE: f64 = 64.0 * f64::EPSILON;

/// Whether the residual of c = a·b is no more than rounding explains.
pub(super) fn residual(a: &[Block], b: &[Block], c: &[Block], seed: u64) -> Result<(), String> {
    let n = a.len().isqrt() * SIDE;
    let mut random = Random::new(!seed);
    // Away from zero, so that no column of C is lost from sight.
    let x: Vec<f64> = (0..n).map(|_| 0.75 + 0.25 * random.next_signed()).collect();
    let expected = apply(a, &apply(b, &x));
    let found = apply(c, &x);
    let limit = TOLERANCE * (n * n) as f64;
    for (row, (expected, found)) in expected.iter().zip(&found).enumerate() {
        let residual = (expected - found).abs();
        // Written so that NaN, which is not below anything, fails.
        if !matches!(residual.partial_cmp(&limit), Some(std::cmp::Ordering::Less)) {
            return Err(format!(
                "row {row} of C·x differs from A·(B·x) by {residual:e}, more than {limit:e}"
            ));
        }
    }
    Ok(())
}

fn apply(matrix: &[Block], x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; x.len()];
    for (at, block) in matrix.iter().enumerate() {
        let (row, column) = place(at);
        let (row, column) = (row * SIDE, column * SIDE);
        for (sum, numbers) in product[row..].iter_mut().zip(block.0.chunks_exact(SIDE)) {
            *sum += numbers.iter().zip(&x[column..]).map(|(number, x)| number * x).sum::<f64>();
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::super::serial;
    use super::*;

    fn product(blocks: usize) -> [Vec<Block>; 3] {
        let mut random = Random::new(7);
        let mut fill = || -> Vec<Block> {
            (0..blocks * blocks)
                .map(|_| Block(std::array::from_fn(|_| random.next_signed())))
                .collect()
        };
        let (a, b) = (fill(), fill());
        let mut c = vec![Block::ZERO; a.len()];
        serial::multiply(&mut c, &a, &b);
        [a, b, c]
    }

    #[test]
    fn the_product_is_the_textbook_one() {
        let [a, b, c] = product(2);
        let number = |matrix: &[Block], row: usize, column: usize| {
            let block = matrix[crate::apps::blocks::layout::index(row / SIDE, column / SIDE)];
            block.0[row % SIDE * SIDE + column % SIDE]
        };
        for (row, column) in [(0, 0), (3, 30), (31, 2), (17, 19)] {
            let sum: f64 = (0..32).map(|k| number(&a, row, k) * number(&b, k, column)).sum();
            assert!((sum - number(&c, row, column)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_wrong_number_is_rejected() {
        let [a, b, c] = product(4);
        assert!(residual(&a, &b, &c, 1).is_ok());
        for (block, at, wrong) in
            [(0, 0, 1e-6), (7, 200, -1.0), (15, 255, f64::NAN), (3, 17, f64::INFINITY)]
        {
            let mut c = c.clone();
            c[block].0[at] += wrong;
            assert!(residual(&a, &b, &c, 1).is_err(), "{block} {at} {wrong}");
        }
        assert!(residual(&a, &b, &vec![Block::ZERO; c.len()], 1).is_err());
    }
}
