//! Fork-join with rayon: in each step, the rows are halved down to a leaf.

use super::kernel::{self, Step, leaf_rows};

/// Replaces a matrix by its inverse.
pub(super) fn invert(matrix: &mut [f64], side: usize) {
    kernel::invert(matrix, side, |rows, step| eliminate(rows, 0, step));
}

/// Eliminates in the rows from number `first` on.
fn eliminate(rows: &mut [f64], first: usize, step: Step<'_>) {
    let number = rows.len() / step.side();
    if number <= leaf_rows(step.side()) {
        return kernel::eliminate(rows, first, step);
    }
    let half = number / 2;
    let (upper, lower) = rows.split_at_mut(half * step.side());
    rayon::join(|| eliminate(upper, first, step), || eliminate(lower, first + half, step));
}
