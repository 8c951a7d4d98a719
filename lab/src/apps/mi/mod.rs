//! `mi(n,times)`: the inverses of dense n by n matrices, one after the other: Gauss and Jordan's
//! elimination in place, with row pivoting. It is MI of the BWS paper (section 5.1), which inverts
//! a 500 by 500 matrix. Each of the n steps is a search for the pivot, which is serial, and an
//! elimination that is parallel over the rows and ends with a barrier: many short phases.

mod kernel;

use super::check::{near, vector};
use crate::apps::prelude::*;

/// The application.
pub static APP: App = App {
    name: "mi",
    about: "the inverses of TIMES dense N by N matrices, one after the other, by Gauss-Jordan \
        elimination",
    syntax: "NxTIMES",
    paper_size: "500x24",
    quick_size: "500x2",
    problem: |parameters| {
        let [side, times] = size::numbers(parameters, 'x', 1)?;
        let bytes = size::product(&[2, times, side, side, size_of::<f64>()]);
        Ok(Problem::new(bytes, move |seed| {
            let mut random = Random::new(seed);
            let numbers = (0..times * side * side).map(|_| random.next_signed());
            let input: Arc<[f64]> = numbers.collect();
            Inversion { side, answer: input.to_vec(), input }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Inversion {
    side: usize,
    /// The matrices one after the other, each row by row.
    input: Arc<[f64]>,
    /// In the beginning the input, in the end the inverses.
    answer: Vec<f64>,
}

impl Instance for Inversion {
    fn reset(&mut self) {
        self.answer.copy_from_slice(&self.input);
    }

    fork_join!(self, fork => {
        for matrix in self.answer.chunks_exact_mut(self.side * self.side) {
            kernel::invert(fork, matrix, self.side);
        }
    });

    fn check(&self) -> Result<(), String> {
        let length = self.side * self.side;
        let mut matrices = self.input.chunks_exact(length).zip(self.answer.chunks_exact(length));
        matrices.try_for_each(|(matrix, inverse)| residual(matrix, inverse, self.side, 1))
    }
}

/// What rounding may leave, relative to n times the sums of the terms' sizes. Elimination with row
/// pivoting lets numbers grow, though seldom by much: the factor leaves room for that.
const TOLERANCE: f64 = 256.0 * f64::EPSILON;

/// Whether the residuals are no more than rounding explains: A·(X·v) and X·(A·v), for the matrix A
/// and the answer X, are compared with v for a random vector v, in n² steps.
fn residual(matrix: &[f64], inverse: &[f64], side: usize, seed: u64) -> Result<(), String> {
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
