//! Static partitioning. In each step the first thread divides the cube twice, and each thread grows
//! the trees of its share of the parts; then each computes the pulls upon its share of the bodies,
//! and moves its share. Bodies are shared out by what they cost in the step before (the costzones
//! of Singh et al. 1995): the tree's order keeps neighbours together.
//!
//! A phase is a run of the team; its end is the barrier; what lies between the phases is counted
//! as well.

use std::time::Instant;

use super::Cluster;
use super::body::{self, Advance, Body, Bounds, Pull, leapfrog};
use super::kernel;
use super::tree::{self, Node, Part};
use crate::apps::prelude::*;

/// How often the first thread divides: 64 parts are shared out.
const LEVELS: usize = 2;

/// The top of the tree, before the parts below it have grown.
enum Top {
    Part,
    Cube { eighths: Vec<Top>, side: f64 },
}

/// Moves the bodies by that many steps; says how long it took.
pub(super) fn simulate(team: &Team, cluster: &mut Cluster, steps: usize) -> Duration {
    let Cluster { bodies, pulls } = cluster;
    let start = Instant::now();
    let mut bounds = Bounds::of(bodies);
    let mut time = start.elapsed();
    for by in leapfrog(steps) {
        let tree = grow(team, Part::whole(bodies, bounds), &mut time);
        pull(team, &tree, bodies, pulls, &mut time);
        bounds = advance(team, bodies, pulls, by, &mut time);
    }
    time
}

fn grow(team: &Team, whole: Part<'_>, time: &mut Duration) -> Node {
    let start = Instant::now();
    let number = whole.bodies.len();
    let mut parts = Vec::new();
    let top = divide(whole, LEVELS, &mut parts);
    let mut shares: Vec<Vec<Part<'_>>> = Vec::new();
    shares.resize_with(team.workers(), Vec::new);
    let mut before = 0;
    for part in parts {
        // The thread that the body in its middle would belong to.
        let middle = before + part.bodies.len() / 2;
        before += part.bodies.len();
        shares[middle * team.workers() / number].push(part);
    }
    *time += start.elapsed();
    let (growing, nodes) =
        team.run(shares, |_, parts, _| parts.into_iter().map(tree::grow).collect::<Vec<Node>>());
    *time += growing;
    let start = Instant::now();
    let tree = assemble(top, &mut nodes.into_iter().flatten());
    *time += start.elapsed();
    tree
}

/// Divides a part that many times, where it is to be divided, and adds the parts that result.
fn divide<'a>(part: Part<'a>, levels: usize, parts: &mut Vec<Part<'a>>) -> Top {
    if levels == 0 || part.is_leaf() {
        parts.push(part);
        return Top::Part;
    }
    let (eighths, side) = part.eighths();
    let eighths = eighths.into_iter().map(|eighth| divide(eighth, levels - 1, parts)).collect();
    Top::Cube { eighths, side }
}

/// Puts the trees of the parts, in order, below the top.
fn assemble(top: Top, nodes: &mut impl Iterator<Item = Node>) -> Node {
    match top {
        Top::Part => nodes.next().expect("each part has grown"),
        Top::Cube { eighths, side } => {
            let eighths = eighths.into_iter().map(|eighth| assemble(eighth, nodes)).collect();
            Node::cube(eighths, side)
        }
    }
}

fn pull(team: &Team, tree: &Node, bodies: &[Body], pulls: &mut [Pull], time: &mut Duration) {
    let start = Instant::now();
    let mut shares = Vec::with_capacity(team.workers());
    let mut rest = pulls;
    for (first, end) in zones(bodies, team.workers()) {
        let (share, after) = rest.split_at_mut(end - first);
        rest = after;
        shares.push((first, share));
    }
    *time += start.elapsed();
    *time += team.run(shares, |_, (first, share), _| kernel::pull(tree, bodies, first, share)).0;
}

/// The first and the last but one of the consecutive bodies of each worker, such that all shares
/// cost the same.
fn zones(bodies: &[Body], workers: usize) -> Vec<(usize, usize)> {
    let total: u128 = bodies.iter().map(|body| u128::from(body.cost)).sum();
    let mut zones = Vec::with_capacity(workers);
    let (mut first, mut end, mut cost) = (0, 0, 0);
    for worker in 1..=workers as u128 {
        while end < bodies.len() && cost * (workers as u128) < total * worker {
            cost += u128::from(bodies[end].cost);
            end += 1;
        }
        zones.push((first, end));
        first = end;
    }
    zones
}

fn advance(
    team: &Team,
    bodies: &mut [Body],
    pulls: &[Pull],
    by: Advance,
    time: &mut Duration,
) -> Bounds {
    let (taken, bounds) = team.run(team.divide(bodies, 1), |rank, bodies, _| {
        body::advance(bodies, &pulls[team.share(pulls.len(), rank)], by)
    });
    *time += taken;
    bounds.into_iter().fold(Bounds::of(&[]), Bounds::union)
}

#[cfg(test)]
mod tests {
    use super::super::plummer;
    use super::*;
    use crate::random::Random;

    #[test]
    fn zones_hold_all_bodies_and_cost_the_same() {
        let mut bodies = plummer::sphere(1000, &mut Random::new(3));
        for (number, body) in bodies.iter_mut().enumerate() {
            body.cost = 1 + number as u64 % 10;
        }
        for workers in [1, 2, 7] {
            let zones = zones(&bodies, workers);
            assert_eq!((zones[0].0, zones[workers - 1].1), (0, 1000));
            for pair in zones.windows(2) {
                assert_eq!(pair[0].1, pair[1].0);
            }
            for (first, end) in zones {
                let cost: u64 = bodies[first..end].iter().map(|body| body.cost).sum();
                assert!(cost.abs_diff(5500 / workers as u64) <= 20, "{cost}");
            }
        }
        assert_eq!(zones(&bodies[..1], 3).iter().map(|(first, end)| end - first).sum::<usize>(), 1);
    }
}
