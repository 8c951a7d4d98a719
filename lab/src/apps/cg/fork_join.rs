//! Fork-join of either library: in each phase, the rows are halved down to a leaf.
//! Sums are therefore always added in the same order, on whatever thread.

use super::kernel::{self, Directions, PRODUCT_LEAF, Solution, VECTOR_LEAF};
use super::matrix::Matrix;
use crate::apps::fork::Fork;

/// Rows divided among the threads.
pub(super) struct Phases<'a, F>(pub(super) &'a F);

impl<F: Fork> kernel::Phases for Phases<'_, F> {
    fn multiply(&self, matrix: &Matrix, p: &[f64], q: &mut [f64]) -> f64 {
        multiply(self.0, matrix, p, 0, q)
    }

    fn advance(&self, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
        advance(self.0, by, directions, solution)
    }

    fn turn(&self, beta: f64, r: &[f64], p: &mut [f64]) {
        turn(self.0, beta, r, p);
    }
}

fn multiply(fork: &impl Fork, matrix: &Matrix, p: &[f64], first: usize, q: &mut [f64]) -> f64 {
    if q.len() <= PRODUCT_LEAF {
        return kernel::multiply(matrix, p, first, q);
    }
    let half = q.len() / 2;
    let (upper, lower) = q.split_at_mut(half);
    let (one, other) = fork.join(
        |fork| multiply(fork, matrix, p, first, upper),
        |fork| multiply(fork, matrix, p, first + half, lower),
    );
    one + other
}

fn advance(fork: &impl Fork, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
    let rows = directions.p.len();
    if rows <= VECTOR_LEAF {
        return kernel::advance(by, directions, solution);
    }
    let (upper_directions, lower_directions) = directions.split_at(rows / 2);
    let (upper, lower) = solution.split_at(rows / 2);
    let (one, other) = fork.join(
        |fork| advance(fork, by, upper_directions, upper),
        |fork| advance(fork, by, lower_directions, lower),
    );
    one + other
}

fn turn(fork: &impl Fork, beta: f64, r: &[f64], p: &mut [f64]) {
    if p.len() <= VECTOR_LEAF {
        return kernel::turn(beta, r, p);
    }
    let half = p.len() / 2;
    let (upper_r, lower_r) = r.split_at(half);
    let (upper, lower) = p.split_at_mut(half);
    fork.join(|fork| turn(fork, beta, upper_r, upper), |fork| turn(fork, beta, lower_r, lower));
}
