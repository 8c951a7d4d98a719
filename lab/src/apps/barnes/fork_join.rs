//! Fork-join of either library: each step grows the tree, computes the pulls and moves
//! the bodies, each of these by divide and conquer.

use super::Cluster;
use super::body::{self, Advance, Body, Bounds, MOVE_LEAF, Pull, leapfrog};
use super::kernel::{self, PULL_LEAF};
use super::tree::{self, GROW_LEAF, Node, Part};
use crate::apps::fork::{Fork, Rows};

/// Moves the bodies by that many steps.
pub(super) fn simulate(fork: &impl Fork, cluster: &mut Cluster, steps: usize) {
    let Cluster { bodies, pulls } = cluster;
    let mut bounds = Bounds::of(bodies);
    for by in leapfrog(steps) {
        let tree = grow(fork, Part::whole(bodies, bounds));
        let rows = Rows { of: 1, leaf: PULL_LEAF };
        rows.halve(fork, pulls, |first, pulls| kernel::pull(&tree, bodies, first, pulls));
        bounds = advance(fork, bodies, pulls, by);
    }
}

/// Grows the tree of a part.
fn grow(fork: &impl Fork, part: Part<'_>) -> Node {
    if part.bodies.len() <= GROW_LEAF || part.is_leaf() {
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

/// Moves the bodies, and returns the bounds that they then have.
fn advance(fork: &impl Fork, bodies: &mut [Body], pulls: &[Pull], by: Advance) -> Bounds {
    if bodies.len() <= MOVE_LEAF {
        return body::advance(bodies, pulls, by);
    }
    let half = bodies.len() / 2;
    let (lower, upper) = bodies.split_at_mut(half);
    let (lower_pulls, upper_pulls) = pulls.split_at(half);
    let (one, other) = fork.join(
        |fork| advance(fork, lower, lower_pulls, by),
        |fork| advance(fork, upper, upper_pulls, by),
    );
    one.union(other)
}
