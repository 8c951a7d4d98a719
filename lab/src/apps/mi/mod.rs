//! `mi(n,times)`: the inverses of dense n by n matrices, one after the other: Gauss and Jordan's elimination in place, with
//! row pivoting. It is MI of the BWS paper (section 5.1), which inverts a 500 by 500 matrix. Each of the n steps is a search
//! for the pivot, which is serial, and an elimination that is parallel over the rows and ends with a barrier: many short
//! phases.

mod check;
mod kernel;
mod locksley;
mod rayon;
mod serial;

use std::sync::Arc;

use super::{App, Instance, Problem, size};
use crate::random::Random;

/// The application.
pub struct Mi;

impl App for Mi {
    fn name(&self) -> &'static str {
        "mi"
    }

    fn about(&self) -> &'static str {
        "the inverses of TIMES dense N by N matrices, one after the other, by Gauss-Jordan elimination"
    }

    fn syntax(&self) -> &'static str {
        "NxTIMES"
    }

    fn paper_size(&self) -> &'static str {
        "500x24"
    }

    fn quick_size(&self) -> &'static str {
        "500x2"
    }

    fn problem(&self, parameters: &str) -> Result<Box<dyn Problem>, String> {
        let [side, times] = size::numbers(parameters, 'x', 1)?;
        Ok(Box::new(Squares { side, times }))
    }
}

/// How large the matrices are, and how many.
#[derive(Debug, Clone, Copy)]
struct Squares {
    side: usize,
    times: usize,
}

impl Problem for Squares {
    fn parameters(&self) -> String {
        format!("{}x{}", self.side, self.times)
    }

    fn bytes(&self) -> u128 {
        size::product(&[2, self.times, self.side, self.side, size_of::<f64>()])
    }

    fn prepare(&self, seed: u64) -> Box<dyn Instance> {
        let mut random = Random::new(seed);
        let numbers = self.times * self.side * self.side;
        let input: Arc<[f64]> = (0..numbers).map(|_| random.next_signed()).collect();
        let answer = input.to_vec();
        Box::new(Inversion { side: self.side, input, answer, seed })
    }
}

#[derive(Clone)]
struct Inversion {
    side: usize,
    /// The matrices one after the other, each row by row.
    input: Arc<[f64]>,
    /// In the beginning the input, in the end the inverses.
    answer: Vec<f64>,
    seed: u64,
}

impl Inversion {
    fn matrices(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.answer.chunks_exact_mut(self.side * self.side)
    }
}

impl Instance for Inversion {
    fn reset(&mut self) {
        self.answer.copy_from_slice(&self.input);
    }

    fn serial(&mut self) {
        let side = self.side;
        self.matrices().for_each(|matrix| serial::invert(matrix, side));
    }

    fn locksley(&mut self, pool: &::locksley::Pool) {
        let side = self.side;
        pool.install(|worker| {
            self.matrices().for_each(|matrix| locksley::invert(worker, matrix, side));
        });
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        let side = self.side;
        pool.install(|| self.matrices().for_each(|matrix| rayon::invert(matrix, side)));
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        let size = self.side * self.side;
        for (matrix, inverse) in self.input.chunks_exact(size).zip(self.answer.chunks_exact(size)) {
            check::residual(matrix, inverse, self.side, self.seed)?;
        }
        Ok(())
    }
}
