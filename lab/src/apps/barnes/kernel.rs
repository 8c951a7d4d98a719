//! What the tree does to bodies: nearly all of the time is spent here.

use glam::DVec3;

use super::body::{Body, Pull};
use super::tree::Node;

/// Bodies of a leaf where the parallel versions compute pulls: some tens of microseconds.
pub(super) const PULL_LEAF: usize = 16;

/// Plummer's softening length, for that many bodies: nearer to one another than that they attract
/// one another ever less. Without it two of them could meet so closely that no step of time would
/// be small enough.
pub(super) fn softening(number: usize) -> f64 {
    0.5 * (number as f64).powf(-0.25)
}

/// Computes the pulls upon the bodies from number `first` on. Never inlined, so that all versions
/// execute the same code.
#[inline(never)]
pub(super) fn pull(tree: &Node, all: &[Body], first: usize, pulls: &mut [Pull]) {
    let softening = softening(all.len());
    for (body, pull) in all[first..].iter().zip(pulls) {
        let mut walk = Walk {
            all,
            at: body.position,
            softening_squared: softening * softening,
            pull: Pull::NONE,
        };
        walk.visit(tree);
        // It met itself on the way, at no distance.
        walk.pull.potential += body.mass / softening;
        *pull = walk.pull;
    }
}

/// A walk through the tree for one body.
struct Walk<'a> {
    all: &'a [Body],
    at: DVec3,
    softening_squared: f64,
    pull: Pull,
}

impl Walk<'_> {
    fn visit(&mut self, node: &Node) {
        let apart = node.centre - self.at;
        let squared = apart.length_squared();
        if squared > node.far_squared {
            return self.attract(apart, squared, node.mass);
        }
        for eighth in &node.eighths {
            self.visit(eighth);
        }
        if node.eighths.is_empty() {
            for body in &self.all[node.first as usize..node.end as usize] {
                let apart = body.position - self.at;
                self.attract(apart, apart.length_squared(), body.mass);
            }
        }
    }

    #[inline(always)]
    fn attract(&mut self, apart: DVec3, squared: f64, mass: f64) {
        let inverse = (squared + self.softening_squared).sqrt().recip();
        let potential = mass * inverse;
        let force = potential * inverse * inverse;
        self.pull.potential -= potential;
        self.pull.acceleration += apart * force;
        self.pull.cost += 1;
    }
}
