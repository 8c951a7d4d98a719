//! A tree with the law of UTS's geometric trees, whose nodes need not be visited one by one.
//!
//! In a geometric tree, a node has a geometrically distributed number of children, `BRANCHING` on
//! average, down to some depth. This is a branching process with linear fractional generating
//! functions. Far above the deepest level, the size of a subtree that does not die out is
//! exponentially distributed, and a node has a geometrically distributed number of such children
//! (Athreya and Ney, "Branching Processes", 1972, section I.4). A sum of a geometric number of
//! exponential variables is exponential, too: so, if the size of a subtree is known, those of its
//! children are the spacings of a Poisson process on it. That is how this tree is made, from the
//! root down: its number of nodes is chosen, a subtree is opened only where a part of it is
//! processed or given away, and it takes the same time to process few nodes or many.
//!
//! What differs from UTS: children that die out at once are not apart, the lowest levels are not
//! exact, and nodes are not hashed by SHA-1.

use locksley_mpi::{Bag, Counted};
use serde::{Deserialize, Serialize};

/// The mean number of children.
const BRANCHING: f64 = 4.0;

/// A tree with this number of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacings {
    pub(crate) nodes: u64,
    pub(crate) seed: u64,
}

/// A subtree that was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subtree {
    seed: u64,
    nodes: u64,
    /// The number of levels below its root. One without levels is a row of nodes.
    height: u8,
}

/// splitmix64.
fn mix(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The mean number of nodes of a subtree that does not die out.
fn mean(height: u8) -> f64 {
    let nodes = (BRANCHING.powi(i32::from(height) + 1) - 1.0) / (BRANCHING - 1.0);
    nodes * BRANCHING / (BRANCHING - 1.0)
}

impl Spacings {
    pub(crate) fn root(&self) -> Vec<Subtree> {
        // The height for which the tree is largest without being above the mean.
        let height = (0..=40).rev().find(|&height| mean(height) <= self.nodes as f64).unwrap_or(0);
        vec![Subtree { seed: mix(self.seed), nodes: self.nodes, height }]
    }
}

impl Subtree {
    /// Adds the children to a stack, the last one first.
    fn open(self, stack: &mut Vec<Self>) {
        let (nodes, height) = (self.nodes - 1, self.height - 1);
        let distance = mean(height) * BRANCHING / (BRANCHING - 1.0);
        let (mut seed, mut last, mut cut) = (self.seed, 0, 0.0);
        while last < nodes {
            seed = mix(seed);
            let uniform = ((seed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            cut -= uniform.ln() * distance;
            let end = if cut < nodes as f64 { cut as u64 } else { nodes };
            if end > last {
                stack.push(Self { seed: mix(!seed), nodes: end - last, height });
                last = end;
            }
        }
    }
}

impl Bag for Spacings {
    /// The subtrees that are left: those of the root's children first, the next one last.
    type Tasks = Vec<Subtree>;
    type Output = u64;

    fn process(&self, stack: &mut Vec<Subtree>, items: usize, nodes: &mut u64) -> bool {
        let mut items = items as u64;
        while items > 0
            && let Some(mut next) = stack.pop()
        {
            if next.nodes <= items {
                items -= next.nodes;
                *nodes += next.nodes;
            } else if next.height == 0 {
                next.nodes -= items;
                *nodes += items;
                items = 0;
                stack.push(next);
            } else {
                items -= 1;
                *nodes += 1;
                next.open(stack);
            }
        }
        !stack.is_empty()
    }

    /// Takes half of the children at each depth, the later ones, as [`Tree`](crate::tree::Tree).
    fn split(&self, stack: &mut Vec<Subtree>) -> Option<Vec<Subtree>> {
        if stack.len() < 2 {
            return None;
        }
        let (mut half, mut rest, mut rounds_up) = (Vec::new(), Vec::new(), true);
        for siblings in stack.chunk_by(|one, two| one.height == two.height) {
            let is_odd = siblings.len() % 2 == 1;
            let middle = siblings.len() / 2 + usize::from(is_odd && rounds_up);
            rounds_up ^= is_odd;
            let (given, kept) = siblings.split_at(middle);
            half.extend_from_slice(given);
            rest.extend_from_slice(kept);
        }
        *stack = rest;
        Some(half)
    }

    fn merge(&self, nodes: &mut u64, more: u64) {
        *nodes += more;
    }
}

impl Counted for Spacings {
    fn done(&self, nodes: &u64) -> u64 {
        *nodes
    }

    fn left(&self, stack: &Vec<Subtree>) -> u64 {
        stack.iter().map(|subtree| subtree.nodes).sum()
    }
}
