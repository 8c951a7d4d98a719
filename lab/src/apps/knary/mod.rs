//! `knary(h,d,s)`: the synthetic benchmark of Cilk and Hood. A tree of height h and degree d; at each node some work,
//! then the first s children one after the other and the rest in parallel. Its parallelism is set by s, its grain is a
//! single node: no other application here forks as finely.

mod check;
mod locksley;
mod node;
mod rayon;
mod serial;

use super::{App, Instance, Problem, size};
use node::Shape;

/// The application.
pub struct Knary;

impl App for Knary {
    fn name(&self) -> &'static str {
        "knary"
    }

    fn about(&self) -> &'static str {
        "a tree of height H and degree D, the first S children of a node in series and the rest in parallel"
    }

    fn syntax(&self) -> &'static str {
        "H,D,S"
    }

    fn paper_size(&self) -> &'static str {
        "10,5,1"
    }

    fn quick_size(&self) -> &'static str {
        "7,6,1"
    }

    fn problem(&self, parameters: &str) -> Result<Box<dyn Problem>, String> {
        let [height, degree, series] = size::numbers(parameters, ',', 0)?;
        Ok(Box::new(Shape::new(height, degree, series)?))
    }
}

impl Problem for Shape {
    fn parameters(&self) -> String {
        format!("{},{},{}", self.height, self.degree, self.series)
    }

    fn bytes(&self) -> u128 {
        0
    }

    fn prepare(&self, _seed: u64) -> Box<dyn Instance> {
        Box::new(Tree { shape: *self, count: 0 })
    }
}

#[derive(Clone)]
struct Tree {
    shape: Shape,
    count: u64,
}

impl Instance for Tree {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn serial(&mut self) {
        self.count = serial::count(&self.shape, self.shape.height);
    }

    fn locksley(&mut self, pool: &::locksley::Pool) {
        self.count = pool.install(|worker| locksley::count(worker, &self.shape, self.shape.height));
    }

    fn rayon(&mut self, pool: &::rayon::ThreadPool) {
        self.count = pool.install(|| rayon::count(&self.shape, self.shape.height));
    }

    fn copy(&self) -> Box<dyn Instance> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result<(), String> {
        check::count(&self.shape, self.count)
    }
}
