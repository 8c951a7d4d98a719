//! The serial program.

use super::kernel::{self, Directions, Solution};
use super::matrix::Matrix;

/// All rows at once.
pub(super) struct Phases;

impl kernel::Phases for Phases {
    fn multiply(&self, matrix: &Matrix, p: &[f64], q: &mut [f64]) -> f64 {
        kernel::multiply(matrix, p, 0, q)
    }

    fn advance(&self, by: f64, directions: Directions<'_>, solution: Solution<'_>) -> f64 {
        kernel::advance(by, directions, solution)
    }

    fn turn(&self, beta: f64, r: &[f64], p: &mut [f64]) {
        kernel::turn(beta, r, p);
    }
}
