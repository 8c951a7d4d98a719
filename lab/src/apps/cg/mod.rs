//! `cg(class)`: CG of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section 2.4): an
//! eigenvalue of a large sparse matrix by inverse iteration, each step of which solves a linear
//! system with 25 steps of the method of conjugate gradients. Each of these has three parallel
//! phases, one long and two very short ones, and waits for each.

mod check;
mod kernel;
mod matrix;

use crate::apps::prelude::*;
use check::{CLASSES, Class};
use kernel::{Estimate, Vectors};
use matrix::Matrix;

/// The application.
pub static APP: App = App {
    name: "cg",
    about: "CG of the NAS Parallel Benchmarks, CLASS S, W, A, B: an eigenvalue of a sparse matrix",
    syntax: "CLASS",
    paper_size: "B",
    quick_size: "S",
    problem: |parameters| {
        let class = CLASSES.iter().find(|class| class.name == parameters);
        let class = class.ok_or_else(|| format!("'{parameters}' is none of S, W, A and B"))?;
        let shape = &class.shape;
        let number = size_of::<f64>() + size_of::<u32>();
        // The sum of n products of sparse vectors has no more numbers than the products together.
        let bytes = size::product(&[shape.side, shape.nonzeros + 1, shape.nonzeros + 1, number])
            + size::product(&[5, shape.side, size_of::<f64>()]);
        Ok(Problem::new(bytes, move |_| {
            let matrix = Arc::new(Matrix::generate(shape));
            let vectors = Vectors::new(shape.side);
            Iteration { class, matrix, vectors, estimate: Estimate::NONE }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Iteration {
    class: &'static Class,
    matrix: Arc<Matrix>,
    vectors: Vectors,
    estimate: Estimate,
}

impl Instance for Iteration {
    fn reset(&mut self) {
        self.vectors.reset();
        self.estimate = Estimate::NONE;
    }

    fork_join!(self, fork => {
        self.estimate = kernel::iterate(fork, &self.matrix, self.class, &mut self.vectors);
    });

    fn check(&self) -> Result<(), String> {
        check::verify(&self.estimate, self.class)
    }
}
