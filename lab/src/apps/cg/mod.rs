//! `cg(class)`: CG of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section 2.4): an eigenvalue of a large sparse
//! matrix by inverse iteration, each step of which solves a linear system with 25 steps of the method of conjugate gradients.
//! Each of these has three parallel phases, one long and two very short ones, and waits for each.

mod check;
mod kernel;
mod locksley;
mod matrix;
mod rayon;
mod serial;

use std::sync::Arc;

use super::{App, Instance, Problem, size};
use check::{CLASSES, Class};
use kernel::{Estimate, Vectors};
use matrix::Matrix;

/// The application.
pub struct Cg;

impl App for Cg {
    fn name(&self) -> &'static str {
        "cg"
    }

    fn about(&self) -> &'static str {
        "CG of the NAS Parallel Benchmarks, CLASS S, W, A or B: an eigenvalue of a sparse matrix"
    }

    fn syntax(&self) -> &'static str {
        "CLASS"
    }

    fn paper_size(&self) -> &'static str {
        "A"
    }

    fn quick_size(&self) -> &'static str {
        "S"
    }

    fn problem(&self, parameters: &str) -> Result<Box<dyn Problem>, String> {
        let class = CLASSES.iter().find(|class| class.name == parameters);
        let class = class.ok_or_else(|| format!("'{parameters}' is none of S, W, A and B"))?;
        Ok(Box::new(Eigenvalue { class }))
    }
}

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

    fn locksley(&mut self, pool: &::locksley::Pool) {
        self.estimate = pool.install(|worker| {
            let phases = locksley::Phases { worker };
            kernel::iterate(&phases, &self.matrix, self.class, &mut self.vectors)
        });
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        self.estimate = pool.install(|| {
            kernel::iterate(&rayon::Phases, &self.matrix, self.class, &mut self.vectors)
        });
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        check::verify(&self.estimate, self.class)
    }
}
