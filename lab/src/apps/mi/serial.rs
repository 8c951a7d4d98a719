//! The serial program.

use super::kernel;

/// Replaces a matrix by its inverse.
pub(super) fn invert(matrix: &mut [f64], side: usize) {
    kernel::invert(matrix, side, |rows, step| kernel::eliminate(rows, 0, step));
}
