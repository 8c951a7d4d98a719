//! `cg(class)`: CG of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section 2.4): an
//! eigenvalue of a large sparse matrix by inverse iteration, each step of which solves a linear
//! system with 25 steps of the method of conjugate gradients. Each of these has three parallel
//! phases, one long and two very short ones, and waits for each.

mod check;
mod fork_join;
mod kernel;
mod matrix;
mod serial;

use std::sync::Arc;

use super::fork::fork_join;
use super::{App, Instance, Problem, size};
use check::{CLASSES, Class};
use kernel::{Estimate, Vectors};
use matrix::Matrix;

/// The application.
pub static APP: App = App {
    name: "cg",
    about: "CG of the NAS Parallel Benchmarks, CLASS S, W, A or B: an eigenvalue of a sparse matrix",
    syntax: "CLASS",
    paper_size: "A",
    quick_size: "S",
    problem: |parameters| {
        let class = CLASSES.iter().find(|class| class.name == parameters);
        let class = class.ok_or_else(|| format!("'{parameters}' is none of S, W, A and B"))?;
        Ok(Box::new(Eigenvalue { class }))
    },
    ..App::BLANK
};

/// Which eigenvalue.
#[derive(Clone, Copy)]
struct Eigenvalue {
    class: &'static Class,
}

impl Problem for Eigenvalue {
    fn parameters(&self) -> String {
        self.class.name.to_owned()
    }

    fn bytes(&self) -> u128 {
        let shape = &self.class.shape;
        let number = size_of::<f64>() + size_of::<u32>();
        // The sum of n products of sparse vectors has no more numbers than the products together.
        size::product(&[shape.side, shape.nonzeros + 1, shape.nonzeros + 1, number])
            + size::product(&[5, shape.side, size_of::<f64>()])
    }

    fn prepare(&self, _seed: u64) -> Box<dyn Instance> {
        let matrix = Matrix::generate(&self.class.shape);
        let vectors = Vectors::new(self.class.shape.side);
        Box::new(Iteration {
            class: self.class,
            matrix: Arc::new(matrix),
            vectors,
            estimate: Estimate::NONE,
        })
    }
}

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

    fn serial(&mut self) {
        self.estimate =
            kernel::iterate(&serial::Phases, &self.matrix, self.class, &mut self.vectors);
    }

    fork_join!(self, fork => {
        let phases = fork_join::Phases(fork);
        self.estimate = kernel::iterate(&phases, &self.matrix, self.class, &mut self.vectors);
    });

    fn check(&self) -> Result<(), String> {
        check::verify(&self.estimate, self.class)
    }
}
