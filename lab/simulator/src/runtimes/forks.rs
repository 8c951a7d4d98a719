//! Trees of forks, on whatever forks.

use super::work;
use crate::computation::Knary;

/// What runs two closures, in parallel if it likes.
pub trait Fork: Sized {
    fn fork(
        &self,
        one: impl FnOnce(&Self) -> u64 + Send,
        other: impl FnOnce(&Self) -> u64 + Send,
    ) -> u64;
}

/// A balanced tree. Returns the number of its leaves.
pub fn tree(on: &impl Fork, leaves: u64, leaf: u64) -> u64 {
    if leaves == 1 {
        work(leaf);
        return 1;
    }
    let half = leaves / 2;
    on.fork(|on| tree(on, half, leaf), |on| tree(on, leaves - half, leaf))
}

/// Hood's synthetic benchmark. Returns the number of nodes.
pub fn knary(on: &impl Fork, shape: Knary) -> u64 {
    work(shape.node);
    if shape.height == 1 {
        return 1;
    }
    let below = Knary { height: shape.height - 1, ..shape };
    let serial: u64 = (0..shape.serial).map(|_| knary(on, below)).sum();
    1 + serial + children(on, below, shape.degree - shape.serial)
}

fn children(on: &impl Fork, shape: Knary, count: u64) -> u64 {
    match count {
        0 => 0,
        1 => knary(on, shape),
        _ => {
            let half = count / 2;
            on.fork(|on| children(on, shape, half), |on| children(on, shape, count - half))
        }
    }
}
