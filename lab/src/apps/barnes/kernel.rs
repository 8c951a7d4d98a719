//! What the tree does to bodies: nearly all of the time is spent here.

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
    at: [f64; 3],
    softening_squared: f64,
    pull: Pull,
}

impl Walk<'_> {
    fn visit(&mut self, node: &Node) {
        let (apart, squared) = self.apart(node.centre);
        if squared > node.far_squared {
            return self.attract(apart, squared, node.mass);
        }
        for eighth in &node.eighths {
            self.visit(eighth);
        }
        if node.eighths.is_empty() {
            for body in &self.all[node.first as usize..node.end as usize] {
                let (apart, squared) = self.apart(body.position);
                self.attract(apart, squared, body.mass);
            }
        }
    }

    #[inline(always)]
    fn apart(&self, other: [f64; 3]) -> ([f64; 3], f64) {
        let apart = [other[0] - self.at[0], other[1] - self.at[1], other[2] - self.at[2]];
        (apart, apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2])
    }

    #[inline(always)]
    fn attract(&mut self, apart: [f64; 3], squared: f64, mass: f64) {
        let inverse = (squared + self.softening_squared).sqrt().recip();
        let potential = mass * inverse;
        let force = potential * inverse * inverse;
        self.pull.potential -= potential;
        for (sum, apart) in self.pull.acceleration.iter_mut().zip(apart) {
            *sum += apart * force;
        }
        self.pull.cost += 1;
    }
}
