//! Matrix multiplication: a parallel iterator over blocks of rows.

use rayon::prelude::*;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "matmul",
    about: "square matrices of whole numbers, by rows",
    size: 384,
    most: 8192,
    prepare,
};

/// Rows that are computed at a time.
const ROWS: usize = 4;

/// Numbers wrap, so that sums are exact in any order.
struct Matmul {
    side: usize,
    left: Vec<u64>,
    right: Vec<u64>,
    product: Vec<u64>,
}

fn prepare(side: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    let mut matrix = || (0..side * side).map(|_| random.next() | 1).collect::<Vec<_>>();
    checked(Matmul { side, left: matrix(), right: matrix(), product: vec![0; side * side] })
}

impl Computation for Matmul {
    type Answer = Vec<u64>;

    fn reset(&mut self) {
        self.product.fill(0);
    }

    fn run(&mut self) {
        let Self { side, left, right, product } = self;
        let side = *side;
        product.par_chunks_mut(ROWS * side).zip(left.par_chunks(ROWS * side)).for_each(
            |(rows, of_left)| {
                for (row, of_left) in rows.chunks_mut(side).zip(of_left.chunks(side)) {
                    for (&factor, of_right) in of_left.iter().zip(right.chunks(side)) {
                        for (sum, &other) in row.iter_mut().zip(of_right) {
                            *sum = sum.wrapping_add(factor.wrapping_mul(other));
                        }
                    }
                }
            },
        );
    }

    fn answer(&self) -> &Vec<u64> {
        &self.product
    }

    /// Freivalds' check ("Probabilistic machines can use less running time", 1977), for three
    /// vectors.
    fn is_correct(&self) -> bool {
        let times = |matrix: &[u64], vector: &[u64]| -> Vec<u64> {
            let row = |row: &[u64]| {
                let products = row.iter().zip(vector).map(|(a, b)| a.wrapping_mul(*b));
                products.fold(0, u64::wrapping_add)
            };
            matrix.chunks(self.side).map(row).collect()
        };
        (0..3).all(|seed| {
            let mut random = Random::new(seed);
            let vector: Vec<u64> = (0..self.side).map(|_| random.next() | 1).collect();
            times(&self.product, &vector) == times(&self.left, &times(&self.right, &vector))
        })
    }
}
