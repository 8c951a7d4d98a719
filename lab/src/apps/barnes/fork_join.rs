//! Fork-join of either library, or serial: each step grows the tree, computes the pulls and moves
//! the bodies, each of these by divide and conquer.

use super::Cluster;
use super::body::{self, Body, Bounds, MOVE_LEAF, Pull, leapfrog};
use super::kernel::{self, PULL_LEAF};
use super::tree::{self, GROW_LEAF, Node, Part};
use crate::fork::{Fork, Rows, reduce};

/// Moves the bodies by that many steps.
pub(super) fn simulate(fork: &impl Fork, cluster: &mut Cluster, steps: usize) {
    let Cluster { bodies, pulls } = cluster;
    let mut bounds = Bounds::of(bodies);
    for by in leapfrog(steps) {
        let tree = grow(fork, Part::whole(bodies, bounds));
        let leaf = |it: Rows<'_, Pull>| kernel::pull(&tree, bodies, it.first, it.rows);
        reduce(fork, Rows { first: 0, of: 1, rows: pulls }, PULL_LEAF, leaf, |(), ()| ());
        let leaf = |(bodies, pulls): (&mut [Body], &[Pull])| body::advance(bodies, pulls, by);
        bounds = reduce(fork, (&mut bodies[..], &pulls[..]), MOVE_LEAF, leaf, Bounds::union);
    }
}

/// Grows the tree of a part.
fn grow<F: Fork>(fork: &F, part: Part<'_>) -> Node {
    if !F::IS_PARALLEL || part.bodies.len() <= GROW_LEAF || part.is_leaf() {
        return tree::grow(part);
    }
    let (parts, side) = part.eighths();
    Node::cube(grow_all(fork, parts), side)
}

/// Grows the trees of parts, in their order.
fn grow_all(fork: &impl Fork, mut parts: Vec<Part<'_>>) -> Vec<Node> {
    if parts.len() <= 1 {
        return parts.into_iter().map(|part| grow(fork, part)).collect();
    }
    let second = parts.split_off(parts.len() / 2);
    let (mut nodes, others) =
        fork.join(|fork| grow_all(fork, parts), |fork| grow_all(fork, second));
    nodes.extend(others);
    nodes
}
