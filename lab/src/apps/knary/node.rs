//! The tree's shape and what a node costs.

use std::hint::black_box;

/// Iterations of the loop at each node: around half a microsecond, a hundred times what a fork may
/// cost.
const ITERATIONS: u64 = 400;

/// The tallest tree: recursion is as deep as the tree is high.
const TALLEST: usize = 64;

/// A tree, by its three parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) height: usize,
    pub(super) degree: usize,
    pub(super) series: usize,
    pub(super) nodes: u64,
}

impl Shape {
    /// The tree, if there can be one.
    pub(super) fn new(height: usize, degree: usize, series: usize) -> Result<Shape, String> {
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

/// The work at a node. The compiler sees neither the number of iterations nor what becomes of the
/// result.
#[inline(never)]
pub(super) fn work() {
    let iterations = black_box(ITERATIONS);
    let mut x = iterations | 1;
    for _ in 0..iterations {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}
