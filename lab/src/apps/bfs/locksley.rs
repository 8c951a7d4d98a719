//! Fork-join on an explicit Locksley worker: each level is halved down to a leaf, and so are the neighbours of a vertex that
//! has very many.

use std::ops::Range;

use locksley::Worker;

use super::graph::{Graph, Vertex};
use super::kernel::{self, LEAF_EDGES, LEAF_VERTICES, Search};

/// Searches from `root` on.
pub(super) fn search(worker: &Worker, graph: &Graph, search: &Search, root: Vertex) {
    search.run(root, |level| expand(worker, graph, search, level));
}

/// Visits all neighbours of the vertices at these places of the queue.
fn expand(worker: &Worker, graph: &Graph, search: &Search, places: Range<usize>) {
    if places.len() <= LEAF_VERTICES {
        let edges = |place| graph.neighbours(search.vertex(place)).len();
        if places.clone().map(edges).sum::<usize>() <= LEAF_EDGES {
            return search.expand(graph, places, kernel::among_others);
        }
        if places.len() == 1 {
            let vertex = search.vertex(places.start);
            return visit(worker, search, vertex, graph.neighbours(vertex));
        }
    }
    let Range { start, end } = places;
    let middle = start.midpoint(end);
    worker.join(
        |worker| expand(worker, graph, search, start..middle),
        |worker| expand(worker, graph, search, middle..end),
    );
}

/// Visits neighbours of a vertex.
fn visit(worker: &Worker, search: &Search, vertex: Vertex, neighbours: &[Vertex]) {
    if neighbours.len() <= LEAF_EDGES {
        return search.visit(vertex, neighbours, kernel::among_others);
    }
    let (some, others) = neighbours.split_at(neighbours.len() / 2);
    worker.join(
        |worker| visit(worker, search, vertex, some),
        |worker| visit(worker, search, vertex, others),
    );
}
