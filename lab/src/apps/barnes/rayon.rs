//! Fork-join with rayon: each step grows the tree, computes the pulls and moves the bodies, each of
//! these by divide and conquer.

use super::Cluster;
use super::body::{self, Advance, Body, Bounds, MOVE_LEAF, Pull, leapfrog};
use super::kernel::{self, PULL_LEAF};
use super::tree::{self, GROW_LEAF, Node, Part};

/// Moves the bodies by that many steps.
pub(super) fn simulate(cluster: &mut Cluster, steps: usize) {
    let Cluster { bodies, pulls } = cluster;
    let mut bounds = Bounds::of(bodies);
    for by in leapfrog(steps) {
        let tree = grow(Part::whole(bodies, bounds));
        pull(&tree, bodies, 0, pulls);
        bounds = advance(bodies, pulls, by);
    }
}

/// Grows the tree of a part.
fn grow(part: Part<'_>) -> Node {
    if part.bodies.len() <= GROW_LEAF || part.is_leaf() {
        return tree::grow(part);
    }
    let (parts, side) = part.eighths();
    Node::cube(grow_all(parts), side)
}

/// Grows the trees of parts, in their order.
fn grow_all(mut parts: Vec<Part<'_>>) -> Vec<Node> {
    if parts.len() <= 1 {
        return parts.into_iter().map(|part| grow(part)).collect();
    }
    let second = parts.split_off(parts.len() / 2);
    let (mut nodes, others) = rayon::join(|| grow_all(parts), || grow_all(second));
    nodes.extend(others);
    nodes
}

/// Computes the pulls upon the bodies from number `first` on.
fn pull(tree: &Node, all: &[Body], first: usize, pulls: &mut [Pull]) {
    if pulls.len() <= PULL_LEAF {
        return kernel::pull(tree, all, first, pulls);
    }
    let half = pulls.len() / 2;
    let (lower, upper) = pulls.split_at_mut(half);
    rayon::join(|| pull(tree, all, first, lower), || pull(tree, all, first + half, upper));
}

/// Moves the bodies, and returns the bounds that they then have.
fn advance(bodies: &mut [Body], pulls: &[Pull], by: Advance) -> Bounds {
    if bodies.len() <= MOVE_LEAF {
        return body::advance(bodies, pulls, by);
    }
    let half = bodies.len() / 2;
    let (lower, upper) = bodies.split_at_mut(half);
    let (lower_pulls, upper_pulls) = pulls.split_at(half);
    let (one, other) =
        rayon::join(|| advance(lower, lower_pulls, by), || advance(upper, upper_pulls, by));
    one.union(other)
}
