//! `knary(h,d,s)`: the synthetic benchmark of Cilk and Hood. A tree of height h and degree d; at
//! each node some work, then the first s children one after the other and the rest in parallel. Its
//! parallelism is set by s, its grain is a single node: no other application here forks as finely.

use std::hint::black_box;

use crate::apps::prelude::*;
use crate::leaf;

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

    fork_join!(self, fork => self.count = count(fork, &self.shape, self.shape.height));

    fn check(&self) -> Result<(), String> {
        let (count, nodes) = (self.count, self.shape.nodes);
        match count == nodes {
            true => Ok(()),
            false => Err(format!("{count} nodes were counted in a tree of {nodes}")),
        }
    }
}

/// Iterations of the loop at each node: around half a microsecond, a hundred times what a fork may
/// cost.
const ITERATIONS: u64 = 400;

/// The tallest tree: recursion is as deep as the tree is high.
const TALLEST: usize = 64;

/// A tree, by its three parameters.
#[derive(Debug, Clone, Copy)]
struct Shape {
    height: usize,
    degree: usize,
    series: usize,
    nodes: u64,
}

impl Shape {
    /// The tree, if there can be one.
    fn new(height: usize, degree: usize, series: usize) -> Result<Shape, String> {
        if height == 0 || height > TALLEST {
            return Err(format!("the height must be from 1 to {TALLEST}"));
        }
        if degree == 0 {
            return Err("the degree must be at least 1".to_owned());
        }
        if series > degree {
            return Err("no more children can be in series than there are".to_owned());
        }
        let nodes = nodes(height, degree).ok_or("it has too many nodes to count")?;
        Ok(Shape { height, degree, series, nodes })
    }
}

/// 1 + d + d² + ... + d^(h-1), if 64 bits hold it.
fn nodes(height: usize, degree: usize) -> Option<u64> {
    (0..height).try_fold(0u64, |nodes, _| nodes.checked_mul(degree as u64)?.checked_add(1))
}

/// Visits a tree of the given height and counts its nodes.
fn count<F: Fork>(fork: &F, shape: &Shape, height: usize) -> u64 {
    // The compiler does not see what becomes of the result.
    black_box(leaf::run(ITERATIONS));
    if height == 1 {
        return 1;
    }
    let series = if F::IS_PARALLEL { shape.series } else { shape.degree };
    let in_series = (0..series).fold(1, |nodes, _| nodes + count(fork, shape, height - 1));
    in_series + children(fork, shape, height - 1, shape.degree - series)
}

/// Visits `number` siblings in parallel.
fn children<F: Fork>(fork: &F, shape: &Shape, height: usize, number: usize) -> u64 {
    match number {
        0 => 0,
        1 => count(fork, shape, height),
        _ => {
            let half = number / 2;
            let (left, right) = fork.join(
                |fork| children(fork, shape, height, half),
                |fork| children(fork, shape, height, number - half),
            );
            left + right
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_count_is_rejected() {
        let shape = Shape::new(4, 3, 1).unwrap();
        assert_eq!(shape.nodes, 1 + 3 + 9 + 27);
        let check = |count| Tree { shape, count }.check();
        assert!(check(40).is_ok() && check(39).is_err() && check(0).is_err());
    }

    #[test]
    fn a_tree_that_cannot_be_is_refused() {
        for (height, degree, series) in [(0, 2, 0), (65, 1, 0), (64, 3, 0), (3, 0, 0), (3, 2, 3)] {
            assert!(Shape::new(height, degree, series).is_err(), "{height},{degree},{series}");
        }
    }
}
