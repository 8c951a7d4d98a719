//! The answer X to the matrix A is checked by residual: A·(X·v) and X·(A·v) are compared with v for
//! a random vector v, in n² steps.

use crate::apps::check::{near, vector};

/// What rounding may leave, relative to n times the sums of the terms' sizes. Elimination with row
/// pivoting lets numbers grow, though seldom by much: the factor leaves room for that.
const TOLERANCE: f64 = 256.0 * f64::EPSILON;

/// Whether the residuals are no more than rounding explains.
pub(super) fn residual(
    matrix: &[f64],
    inverse: &[f64],
    side: usize,
    seed: u64,
) -> Result<(), String> {
    let v = vector(side, seed);
    // The condition of the matrix: how much larger terms are than what remains of them.
    let size = |numbers: &[f64]| -> f64 {
        let rows = numbers.chunks_exact(side);
        rows.map(|row| row.iter().map(|number| number.abs()).sum()).fold(0.0, f64::max)
    };
    let limit = TOLERANCE * side as f64 * size(matrix) * size(inverse);
    for (order, first, second) in [("A·X·v", inverse, matrix), ("X·A·v", matrix, inverse)] {
        near(&apply(second, &apply(first, &v)), &v, limit, [order, "v"])?;
    }
    Ok(())
}

fn apply(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    let rows = matrix.chunks_exact(v.len());
    rows.map(|row| row.iter().zip(v).map(|(number, v)| number * v).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::kernel;
    use super::*;
    use crate::fork::Serial;
    use crate::random::Random;

    #[test]
    fn a_wrong_number_is_rejected() {
        for (side, seed) in [(2, 1), (40, 2), (90, 3)] {
            let mut random = Random::new(seed);
            let matrix: Vec<f64> = (0..side * side).map(|_| random.next_signed()).collect();
            let mut inverse = matrix.clone();
            kernel::invert(&Serial, &mut inverse, side);
            residual(&matrix, &inverse, side, seed).unwrap();
            for (at, wrong) in [(0, 1e-6), (side + 1, -1.0), (side * side - 1, f64::NAN)] {
                let mut inverse = inverse.clone();
                inverse[at] += wrong;
                assert!(residual(&matrix, &inverse, side, seed).is_err(), "{side} {at} {wrong}");
            }
            assert!(residual(&matrix, &matrix, side, seed).is_err());
            assert!(residual(&matrix, &vec![0.0; side * side], side, seed).is_err());
            assert!(residual(&matrix, &vec![f64::INFINITY; side * side], side, seed).is_err());
        }
    }
}
