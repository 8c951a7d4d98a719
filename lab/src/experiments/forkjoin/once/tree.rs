//! The sum over a binary tree: a fork at each inner node, and memory to be read. One version a runtime.

use locksley::Worker;

use super::calls::both;
use crate::random::mix;

/// A node with two children or none.
pub(super) struct Node {
    value: u64,
    children: Option<Box<[Node; 2]>>,
}

/// The value of the node that is the `index`-th from the left in preorder.
fn value(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index))
}

/// A perfect tree with `depth` levels, in memory in the order in which it is visited.
pub(super) fn build(depth: u32, seed: u64) -> Node {
    /// Gives `node`, the `index`-th in preorder, what is below it.
    fn grow(node: &mut Node, depth: u32, seed: u64, index: u64) {
        if depth > 1 {
            let [left, right] = [index + 1, index + (1 << (depth - 1))];
            let leaf = |index| Node { value: value(seed, index), children: None };
            let children = node.children.insert(Box::new([leaf(left), leaf(right)]));
            grow(&mut children[0], depth - 1, seed, left);
            grow(&mut children[1], depth - 1, seed, right);
        }
    }
    let mut root = Node { value: value(seed, 0), children: None };
    grow(&mut root, depth, seed, 0);
    root
}

/// The sum over that tree, from the values alone.
pub(crate) fn sum(depth: u32, seed: u64) -> u64 {
    (0..(1u64 << depth) - 1).fold(0, |sum, index| sum.wrapping_add(value(seed, index)))
}

impl Node {
    fn with(&self, left: u64, right: u64) -> u64 {
        self.value.wrapping_add(left).wrapping_add(right)
    }
}

/// The same code without forks.
#[inline(never)]
pub(super) fn serial(node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let (left, right) = both(|| serial(&children[0]), || serial(&children[1]));
    node.with(left, right)
}

/// What one writes who has no forks in mind.
#[inline(never)]
pub(super) fn plain(node: &Node) -> u64 {
    match &node.children {
        None => node.value,
        Some(children) => node.with(plain(&children[0]), plain(&children[1])),
    }
}

pub(super) fn on_worker(worker: &Worker, node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (left, right) = worker.join(|w| on_worker(w, left), |w| on_worker(w, right));
    node.with(left, right)
}

pub(super) fn with_join(node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (left, right) = locksley::join(|| with_join(left), || with_join(right));
    node.with(left, right)
}

pub(super) fn on_rayon(node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (left, right) = rayon::join(|| on_rayon(left), || on_rayon(right));
    node.with(left, right)
}

/// The caller of chili's join runs the second closure first: in reverse, so that all read memory in the same order.
pub(super) fn on_chili(scope: &mut chili::Scope<'_>, node: &Node) -> u64 {
    let Some(children) = &node.children else { return node.value };
    let [left, right] = &**children;
    let (right, left) = scope.join(|s| on_chili(s, right), |s| on_chili(s, left));
    node.with(left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_value_of_its_own() {
        for depth in 1..8 {
            let tree = build(depth, 42);
            assert_eq!(serial(&tree), sum(depth, 42), "depth {depth}");
            assert_eq!(plain(&tree), sum(depth, 42), "depth {depth}");
        }
        assert_ne!(sum(5, 1), sum(5, 2));
    }
}
