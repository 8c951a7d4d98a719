//! Fork-join on an explicit Locksley worker: in each phase, the rows are halved down to a leaf. Sums are therefore always added
//! in the same order, whoever computes them.

use locksley::Worker;

use super::kernel::{self, Directions, PRODUCT_LEAF, Solution, VECTOR_LEAF};
use super::matrix::Matrix;

/// Rows divided among the workers.
pub(super) struct Phases<'a> {
    pub(super) worker: &'a Worker,
}

impl kernel::Phases for Phases<'_> {
    fn multiply(&self, matrix: &Matrix, p: &[f64], q: &mut [f64]) -> f64 {
        multiply(self.worker, matrix, p, 0, q)
    }

    fn advance(&self, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
        advance(self.worker, by, directions, solution)
    }

    fn turn(&self, beta: f64, r: &[f64], p: &mut [f64]) {
        turn(self.worker, beta, r, p);
    }
}

fn multiply(worker: &Worker, matrix: &Matrix, p: &[f64], first: usize, q: &mut [f64]) -> f64 {
    if q.len() <= PRODUCT_LEAF {
        return kernel::multiply(matrix, p, first, q);
    }
    let half = q.len() / 2;
    let (upper, lower) = q.split_at_mut(half);
    let (one, other) = worker.join(
        |worker| multiply(worker, matrix, p, first, upper),
        |worker| multiply(worker, matrix, p, first + half, lower),
    );
    one + other
}

fn advance(worker: &Worker, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
    let rows = directions.p.len();
    if rows <= VECTOR_LEAF {
        return kernel::advance(by, directions, solution);
    }
    let (upper_directions, lower_directions) = directions.split_at(rows / 2);
    let (upper, lower) = solution.split_at(rows / 2);
    let (one, other) = worker.join(
        |worker| advance(worker, by, upper_directions, upper),
        |worker| advance(worker, by, lower_directions, lower),
    );
    one + other
}

fn turn(worker: &Worker, beta: f64, r: &[f64], p: &mut [f64]) {
    if p.len() <= VECTOR_LEAF {
        return kernel::turn(beta, r, p);
    }
    let half = p.len() / 2;
    let (upper_r, lower_r) = r.split_at(half);
    let (upper, lower) = p.split_at_mut(half);
    worker.join(
        |worker| turn(worker, beta, upper_r, upper),
        |worker| turn(worker, beta, lower_r, lower),
    );
}
