//! Fork-join on an explicit Locksley worker: in each step, the rows are halved down to a leaf.

use locksley::Worker;

use super::kernel::{self, Step, leaf_rows};

/// Replaces a matrix by its inverse.
pub(super) fn invert(worker: &Worker, matrix: &mut [f64], side: usize) {
    kernel::invert(matrix, side, |rows, step| eliminate(worker, rows, 0, step));
}

/// Eliminates in the rows from number `first` on.
fn eliminate(worker: &Worker, rows: &mut [f64], first: usize, step: Step<'_>) {
    let number = rows.len() / step.side();
    if number <= leaf_rows(step.side()) {
        return kernel::eliminate(rows, first, step);
    }
    let half = number / 2;
    let (upper, lower) = rows.split_at_mut(half * step.side());
    worker.join(
        |worker| eliminate(worker, upper, first, step),
        |worker| eliminate(worker, lower, first + half, step),
    );
}
