//! The trees of Unbalanced Tree Search, as a bag.

use locksley_mpi::Bag;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// The published trees.
pub(crate) const TREES: [(&str, Tree); 5] = [
    ("T1", Tree { shape: Shape::Geometric { depth: 10, branching: 4.0 }, seed: 19 }),
    ("T1L", Tree { shape: Shape::Geometric { depth: 13, branching: 4.0 }, seed: 29 }),
    ("T1XL", Tree { shape: Shape::Geometric { depth: 15, branching: 4.0 }, seed: 29 }),
    ("T3", Tree { shape: Shape::Binomial { root: 2000, chance: 0.124_875, many: 8 }, seed: 42 }),
    ("T3L", Tree { shape: Shape::Binomial { root: 2000, chance: 0.200_014, many: 5 }, seed: 7 }),
];

#[derive(Clone, Copy)]
pub(crate) struct Tree {
    shape: Shape,
    seed: u32,
}

#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A geometric distribution with this mean above this depth.
    Geometric { depth: u32, branching: f64 },
    /// So many children with this chance, or none.
    Binomial { root: u32, chance: f64, many: u32 },
}

/// A node of which children are left to visit.
#[derive(Serialize, Deserialize)]
pub(crate) struct Node {
    hash: [u8; 20],
    depth: u32,
    next: u32,
    end: u32,
}

impl Tree {
    fn node(&self, hash: [u8; 20], depth: u32) -> Node {
        let last = [hash[16], hash[17], hash[18], hash[19]];
        let chance = f64::from(u32::from_be_bytes(last) & 0x7fff_ffff) / f64::from(1_u32 << 31);
        let end = match self.shape {
            Shape::Geometric { depth: deepest, .. } if depth >= deepest => 0,
            Shape::Geometric { branching, .. } => {
                let p = 1.0 / (1.0 + branching);
                (((1.0 - chance).ln() / (1.0 - p).ln()).floor() as u32).min(100)
            }
            Shape::Binomial { root, .. } if depth == 0 => root,
            Shape::Binomial { chance: most, many, .. } if chance < most => many,
            Shape::Binomial { .. } => 0,
        };
        Node { hash, depth, next: 0, end }
    }

    pub(crate) fn root(&self) -> Node {
        let mut state = [0; 20];
        state[16..].copy_from_slice(&self.seed.to_be_bytes());
        self.node(Sha1::digest(state).into(), 0)
    }

    fn child(&self, parent: &Node, number: u32) -> Node {
        let mut state = [0; 24];
        state[..20].copy_from_slice(&parent.hash);
        state[20..].copy_from_slice(&number.to_be_bytes());
        self.node(Sha1::digest(state).into(), parent.depth + 1)
    }
}

impl Bag for Tree {
    /// A path down the tree.
    type Tasks = Vec<Node>;
    type Output = u64;

    fn process(&self, path: &mut Vec<Node>, items: usize, nodes: &mut u64) -> bool {
        for _ in 0..items {
            let Some(last) = path.last_mut() else { break };
            if last.next == last.end {
                path.pop();
                continue;
            }
            let number = last.next;
            last.next += 1;
            *nodes += 1;
            let child = self.child(last, number);
            if child.end > 0 {
                path.push(child);
            }
        }
        !path.is_empty()
    }

    /// Takes half of the children at each depth. Of an odd number of them, one more every other
    /// time, and first at the least depth: that subtree may be most of the work.
    fn split(&self, path: &mut Vec<Node>) -> Option<Vec<Node>> {
        if path.iter().map(|node| node.end - node.next).sum::<u32>() < 2 {
            return None;
        }
        let (mut half, mut rounds_up) = (Vec::new(), true);
        for node in path {
            let children = node.end - node.next;
            let is_odd = children % 2 == 1;
            let given = children / 2 + u32::from(is_odd && rounds_up);
            rounds_up ^= is_odd;
            if given > 0 {
                let middle = node.end - given;
                half.push(Node { next: middle, ..*node });
                node.end = middle;
            }
        }
        Some(half)
    }

    fn merge(&self, nodes: &mut u64, more: u64) {
        *nodes += more;
    }
}
