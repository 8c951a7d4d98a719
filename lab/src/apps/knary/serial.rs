//! The serial program.

use super::node::{Shape, work};

/// Visits a tree of the given height and counts its nodes.
pub(super) fn count(shape: &Shape, height: usize) -> u64 {
    work();
    if height == 1 {
        return 1;
    }
    (0..shape.degree).fold(1, |nodes, _| nodes + count(shape, height - 1))
}
