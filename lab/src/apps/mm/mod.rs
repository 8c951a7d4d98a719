//! `mm(n)`: C = A·B for dense n by n matrices of doubles, in blocks of 16 by 16: divide and conquer
//! on the quarters of C.

use super::blocks::layout::{index, place};
use super::blocks::product::{self, Extent, multiply_add};
use super::blocks::{self, Block, SIDE};
use super::check::{near, vector};
use crate::apps::prelude::*;

/// The application.
pub static APP: App = App {
    name: "mm",
    about: "the product of dense N by N matrices in 16 by 16 blocks; N is a multiple of 16",
    syntax: "N",
    paper_size: "1024",
    bws_size: Some("1600"),
    quick_size: "512",
    has_static: true,
    problem: |parameters| {
        let blocks = blocks::blocks_along(parameters)?;
        let side = blocks.checked_next_power_of_two().ok_or("N is too large")?;
        let bytes = size::product(&[3, side, side, size_of::<Block>()]);
        Ok(Problem::new(bytes, move |seed| {
            let mut random = Random::new(seed);
            let [a, b] = [(); 2].map(|()| blocks::random(blocks, &mut random));
            let c = vec![Block::ZERO; a.len()];
            Product { a, b, c, blocks, seed }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Product {
    a: Vec<Block>,
    b: Vec<Block>,
    c: Vec<Block>,
    /// Those along a side that are no padding.
    blocks: usize,
    seed: u64,
}

impl Instance for Product {
    fn reset(&mut self) {
        self.c.fill(Block::ZERO);
    }

    fork_join!(self, fork => {
        let extent = Extent::square(self.blocks);
        product::combine(fork, &mut self.c, &self.a, &self.b, extent, multiply_add);
    });

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(multiply(team, &mut self.c, [&self.a, &self.b], self.blocks))
    }

    fn check(&self) -> Result<(), String> {
        residual(&self.a, &self.b, &self.c, self.seed)
    }
}

/// c += a·b: each thread computes an equal number of consecutive blocks of C. There is one phase,
/// and the end of the team is its barrier. There are so many blocks along each side, the
/// others being padding; says how long it took.
fn multiply(team: &Team, c: &mut [Block], [a, b]: [&[Block]; 2], blocks: usize) -> Duration {
    let places = c.iter_mut().enumerate().map(|(at, c)| (place(at), c));
    let mut used = places.filter(|((row, column), _)| row.max(column) < &blocks);
    let share = |rank| used.by_ref().take(team.share(blocks * blocks, rank).len()).collect();
    let shares: Vec<Vec<_>> = (0..team.workers()).map(share).collect();
    team.run(shares, |_, share, _| {
        for ((row, column), c) in share {
            for k in 0..blocks {
                multiply_add(c, &a[index(row, k)], &b[index(k, column)]);
            }
        }
    })
    .0
}

/// What rounding may leave of a sum of n products of sums, relative to n² (all numbers are below
/// one).
const TOLERANCE: f64 = 64.0 * f64::EPSILON;

/// Whether the residual of c = a·b is no more than rounding explains, by Freivalds's method: C·x is
/// compared with A·(B·x) for a random vector x, in n² steps.
fn residual(a: &[Block], b: &[Block], c: &[Block], seed: u64) -> Result<(), String> {
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
    use crate::apps::blocks::product::combine;
    use crate::fork::Serial;

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
            let block = matrix[index(row / SIDE, column / SIDE)];
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
