//! Fork-join of either library, or serial: in each phase, the rows are halved down to a leaf.
//! Sums are therefore always added in the same order, on whatever thread.

use super::kernel::{self, Directions, PRODUCT_LEAF, Solution, VECTOR_LEAF};
use super::matrix::Matrix;
use crate::fork::{Fork, Numbered, reduce};

/// Rows divided among the threads.
pub(super) struct Phases<'a, F>(pub(super) &'a F);

impl<F: Fork> kernel::Phases for Phases<'_, F> {
    fn multiply(&self, matrix: &Matrix, p: &[f64], q: &mut [f64]) -> f64 {
        let leaf = |rows: Numbered<&mut [f64]>| kernel::multiply(matrix, p, rows.first, rows.of);
        reduce(self.0, Numbered { first: 0, of: q }, PRODUCT_LEAF, leaf, |one, other| one + other)
    }

    fn advance(&self, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
        let leaf = |(directions, solution): (Directions<'_>, Solution<'_>)| {
            kernel::advance(by, directions, solution)
        };
        reduce(self.0, (directions, solution), VECTOR_LEAF, leaf, |one, other| one + other)
    }

    fn turn(&self, beta: f64, r: &[f64], p: &mut [f64]) {
        let leaf = |(r, p): (&[f64], &mut [f64])| kernel::turn(beta, r, p);
        reduce(self.0, (r, p), VECTOR_LEAF, leaf, |(), ()| ());
    }
}
