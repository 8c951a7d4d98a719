//! The answer is checked by Freivalds's method: C·x is compared with A·(B·x) for a random vector x,
//! in n² steps.

use crate::apps::blocks::{self, Block, SIDE};
use crate::apps::check::{near, vector};

/// What rounding may leave of a sum of n products of sums, relative to n² (all numbers are below
/// one).
const TOLERANCE: f64 = 64.0 * f64::EPSILON;

/// Whether the residual of c = a·b is no more than rounding explains.
pub(super) fn residual(a: &[Block], b: &[Block], c: &[Block], seed: u64) -> Result<(), String> {
    let n = a.len().isqrt() * SIDE;
    let x = vector(n, seed);
    let limit = TOLERANCE * (n * n) as f64;
    near(&apply(c, &x), &apply(a, &apply(b, &x)), limit, ["C·x", "A·(B·x)"])
}

fn apply(matrix: &[Block], x: &[f64]) -> Vec<f64> {
    blocks::apply(matrix, x, |_, _, number| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::blocks::product::{Extent, combine, multiply_add};
    use crate::fork::Serial;
    use crate::random::Random;

    fn product(blocks: usize) -> [Vec<Block>; 3] {
        let mut random = Random::new(7);
        let mut fill = || -> Vec<Block> {
            (0..blocks * blocks)
                .map(|_| Block(std::array::from_fn(|_| random.next_signed())))
                .collect()
        };
        let (a, b) = (fill(), fill());
        let mut c = vec![Block::ZERO; a.len()];
        combine(&Serial, &mut c, &a, &b, Extent::square(blocks), multiply_add);
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
