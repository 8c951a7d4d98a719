//! Gauss and Jordan's elimination in place: after step k, column k holds what the elimination made
//! of the k-th column of the identity, since the column itself is known to be one of the identity's
//! by then.

use crate::fork::{Fork, Rows, reduce};

/// Numbers of a leaf of the parallel elimination: some microseconds.
const LEAF_NUMBERS: usize = 16 * 1024;

/// Replaces a matrix by its inverse.
pub(super) fn invert(fork: &impl Fork, matrix: &mut [f64], side: usize) {
    let leaf = (LEAF_NUMBERS / side).max(1);
    let mut pivot = vec![0.0; side];
    let mut partners = Vec::with_capacity(side);
    for column in 0..side {
        let partner = largest(matrix, side, column);
        swap_rows(matrix, side, column, partner);
        partners.push(partner);
        let row = &mut matrix[column * side..][..side];
        let factor = row[column].recip();
        row[column] = 1.0;
        row.iter_mut().for_each(|number| *number *= factor);
        pivot.copy_from_slice(row);
        let pivot = &pivot[..];
        let eliminate = |it: Rows<'_, f64>| eliminate(it.rows, it.first, column, pivot);
        reduce(fork, Rows { first: 0, of: side, rows: matrix }, leaf, eliminate, |(), ()| ());
    }
    // The inverse of the matrix with its rows exchanged has the columns exchanged, last ones first.
    for (column, &partner) in partners.iter().enumerate().rev() {
        if partner != column {
            matrix.chunks_exact_mut(side).for_each(|row| row.swap(column, partner));
        }
    }
}

/// Subtracts the pivot row from `rows`, the first of which is row number `first`, so often that the
/// column vanishes. The pivot row is the one with this column's number, divided by the pivot. Never
/// inlined, so that all versions execute the same code.
#[inline(never)]
fn eliminate(rows: &mut [f64], first: usize, column: usize, pivot: &[f64]) {
    for (number, row) in (first..).zip(rows.chunks_exact_mut(pivot.len())) {
        if number == column {
            continue;
        }
        let factor = std::mem::replace(&mut row[column], 0.0);
        for (number, pivot) in row.iter_mut().zip(pivot) {
            *number -= factor * pivot;
        }
    }
}

/// The row, from number `column` on, with the largest number in that column.
fn largest(matrix: &[f64], side: usize, column: usize) -> usize {
    let size = |row: usize| matrix[row * side + column].abs();
    (column..side).max_by(|&a, &b| size(a).total_cmp(&size(b))).expect("a row at least")
}

fn swap_rows(matrix: &mut [f64], side: usize, one: usize, other: usize) {
    if one != other {
        let (upper, lower) = matrix.split_at_mut(one.max(other) * side);
        upper[one.min(other) * side..][..side].swap_with_slice(&mut lower[..side]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork::Serial;

    fn inverse(mut matrix: Vec<f64>, side: usize) -> Vec<f64> {
        invert(&Serial, &mut matrix, side);
        matrix
    }

    #[test]
    fn inverses_are_those_of_the_textbook() {
        assert_eq!(inverse(vec![4.0], 1), [0.25]);
        assert_eq!(inverse(vec![2.0, 1.0, 0.0, 4.0], 2), [0.5, -0.125, 0.0, 0.25]);
        // Nothing stands on the diagonal: without pivoting there is no first step.
        assert_eq!(inverse(vec![0.0, 2.0, 1.0, 0.0], 2), [0.0, 1.0, 0.5, 0.0]);
        let turn = vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert_eq!(inverse(turn, 3), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_matrix_without_an_inverse_gives_no_numbers() {
        assert!(inverse(vec![1.0, 2.0, 2.0, 4.0], 2).iter().any(|number| !number.is_finite()));
    }
}
