//! The serial program.

use super::graph::{Graph, Vertex};
use super::kernel::{self, Search};

/// Searches from `root` on.
pub(super) fn search(graph: &Graph, search: &Search, root: Vertex) {
    search.run(root, |level| search.expand(graph, level, kernel::alone));
}
