//! `knary(h,d,s)`: the synthetic benchmark of Cilk and Hood. A tree of height h and degree d; at
//! each node some work, then the first s children one after the other and the rest in parallel. Its
//! parallelism is set by s, its grain is a single node: no other application here forks as finely.

mod check;
mod fork_join;
mod node;
use super::{App, Instance, Problem, size};
use node::Shape;

/// The application.
pub static APP: App = App {
    name: "knary",
    about: "a tree of height H and degree D, the first S children of a node in series and the rest \
        in parallel",
    syntax: "H,D,S",
    paper_size: "10,5,1",
    quick_size: "7,6,1",
    problem: |parameters| {
        let [height, degree, series] = size::numbers(parameters, ',', 0)?;
        let shape = Shape::new(height, degree, series)?;
        Ok(Problem::new(0, move |_| Tree { shape, count: 0 }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Tree {
    shape: Shape,
    count: u64,
}

impl Instance for Tree {
    fn reset(&mut self) {
        self.count = 0;
    }

    fork_join!(self, fork => self.count = fork_join::count(fork, &self.shape, self.shape.height));

    fn check(&self) -> Result<(), String> {
        check::count(&self.shape, self.count)
    }
}
