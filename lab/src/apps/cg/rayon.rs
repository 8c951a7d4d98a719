//! Fork-join with rayon: in each phase, the rows are halved down to a leaf. Sums are therefore always added in the same order,
//! whoever computes them.

use super::kernel::{self, Directions, PRODUCT_LEAF, Solution, VECTOR_LEAF};
use super::matrix::Matrix;

/// Rows divided among the threads.
pub(super) struct Phases;

impl kernel::Phases for Phases {
    fn multiply(&self, matrix: &Matrix, p: &[f64], q: &mut [f64]) -> f64 {
        multiply(matrix, p, 0, q)
    }

    fn advance(&self, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
        advance(by, directions, solution)
    }

    fn turn(&self, beta: f64, r: &[f64], p: &mut [f64]) {
        turn(beta, r, p);
    }
}

fn multiply(matrix: &Matrix, p: &[f64], first: usize, q: &mut [f64]) -> f64 {
    if q.len() <= PRODUCT_LEAF {
        return kernel::multiply(matrix, p, first, q);
    }
    let half = q.len() / 2;
    let (upper, lower) = q.split_at_mut(half);
    let (one, other) = rayon::join(
        || multiply(matrix, p, first, upper),
        || multiply(matrix, p, first + half, lower),
    );
    one + other
}

fn advance(by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
    let rows = directions.p.len();
    if rows <= VECTOR_LEAF {
        return kernel::advance(by, directions, solution);
    }
    let (upper_directions, lower_directions) = directions.split_at(rows / 2);
    let (upper, lower) = solution.split_at(rows / 2);
    let (one, other) = rayon::join(
        || advance(by, upper_directions, upper),
        || advance(by, lower_directions, lower),
    );
    one + other
}

fn turn(beta: f64, r: &[f64], p: &mut [f64]) {
    if p.len() <= VECTOR_LEAF {
        return kernel::turn(beta, r, p);
    }
    let half = p.len() / 2;
    let (upper_r, lower_r) = r.split_at(half);
    let (upper, lower) = p.split_at_mut(half);
    rayon::join(|| turn(beta, upper_r, upper), || turn(beta, lower_r, lower));
}
