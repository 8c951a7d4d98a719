//! Fork-join of either library, or serial: each level is halved down to a leaf, and so are the
//! neighbours of a vertex that has very many.

use std::ops::Range;

use super::graph::{Graph, Vertex};
use super::kernel::{LEAF_EDGES, LEAF_VERTICES, Search};
use crate::fork::{Fork, reduce};

/// Searches from `root` on.
pub(super) fn search(fork: &impl Fork, graph: &Graph, search: &Search, root: Vertex) {
    search.run(root, |level| expand(fork, graph, search, level));
}

/// Visits all neighbours of the vertices at these places of the queue.
fn expand<F: Fork>(fork: &F, graph: &Graph, search: &Search, places: Range<usize>) {
    if !F::IS_PARALLEL {
        return search.expand::<F>(graph, places);
    }
    if places.len() <= LEAF_VERTICES {
        let edges = |place| graph.neighbours(search.vertex(place)).len();
        if places.clone().map(edges).sum::<usize>() <= LEAF_EDGES {
            return search.expand::<F>(graph, places);
        }
        if places.len() == 1 {
            let vertex = search.vertex(places.start);
            let visit = |some: &[Vertex]| search.visit::<F>(vertex, some);
            return reduce(fork, graph.neighbours(vertex), LEAF_EDGES, visit, |(), ()| ());
        }
    }
    let Range { start, end } = places;
    let middle = start.midpoint(end);
    fork.join(
        |fork| expand(fork, graph, search, start..middle),
        |fork| expand(fork, graph, search, middle..end),
    );
}
