//! Fork-join of either library: each level is halved down to a leaf, and so are the
//! neighbours of a vertex that has very many.

use std::ops::Range;

use super::graph::{Graph, Vertex};
use super::kernel::{self, LEAF_EDGES, LEAF_VERTICES, Search};
use crate::fork::Fork;

/// Searches from `root` on.
pub(super) fn search(fork: &impl Fork, graph: &Graph, search: &Search, root: Vertex) {
    search.run(root, |level| expand(fork, graph, search, level));
}

/// Visits all neighbours of the vertices at these places of the queue.
fn expand(fork: &impl Fork, graph: &Graph, search: &Search, places: Range<usize>) {
    if places.len() <= LEAF_VERTICES {
        let edges = |place| graph.neighbours(search.vertex(place)).len();
        if places.clone().map(edges).sum::<usize>() <= LEAF_EDGES {
            return search.expand(graph, places, kernel::among_others);
        }
        if places.len() == 1 {
            let vertex = search.vertex(places.start);
            return visit(fork, search, vertex, graph.neighbours(vertex));
        }
    }
    let Range { start, end } = places;
    let middle = start.midpoint(end);
    fork.join(
        |fork| expand(fork, graph, search, start..middle),
        |fork| expand(fork, graph, search, middle..end),
    );
}

/// Visits neighbours of a vertex.
fn visit(fork: &impl Fork, search: &Search, vertex: Vertex, neighbours: &[Vertex]) {
    if neighbours.len() <= LEAF_EDGES {
        return search.visit(vertex, neighbours, kernel::among_others);
    }
    let (some, others) = neighbours.split_at(neighbours.len() / 2);
    fork.join(|fork| visit(fork, search, vertex, some), |fork| visit(fork, search, vertex, others));
}
