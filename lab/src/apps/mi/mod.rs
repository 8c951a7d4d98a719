//! `mi(n,times)`: the inverses of dense n by n matrices, one after the other: Gauss and Jordan's
//! elimination in place, with row pivoting. It is MI of the BWS paper (section 5.1), which inverts
//! a 500 by 500 matrix. Each of the n steps is a search for the pivot, which is serial, and an
//! elimination that is parallel over the rows and ends with a barrier: many short phases.

mod check;
mod kernel;

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
        matrices.try_for_each(|(matrix, inverse)| check::residual(matrix, inverse, self.side, 1))
    }
}
