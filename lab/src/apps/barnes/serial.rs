//! The serial program.

use super::Cluster;
use super::body::{Bounds, advance, leapfrog};
use super::kernel::pull;
use super::tree::{Part, grow};

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
