//! `bfs(scale,edgefactor)`: breadth-first search from one vertex of a large graph, level by level:
//! BFS of the BWS paper (section 5.1), on the graph of Graph500 (the specification, version 1.2).
//! All vertices of a level are expanded in parallel; the task that reaches a new vertex first
//! becomes its parent. Little is done at an edge, and vertices have very different numbers of them.

mod check;
mod fork_join;
mod graph;
mod kernel;
mod kronecker;

use crate::apps::prelude::*;
use graph::{Edges, Graph, Vertex};
use kernel::Search;

/// The application.
pub static APP: App = App {
    name: "bfs",
    about: "breadth-first search on the Graph500 graph of 2^SCALE vertices, or of as many as are \
        given (at least 1024), with EDGEFACTOR times as many edges",
    syntax: "SCALE,EDGEFACTOR",
    paper_size: "10000000,16",
    quick_size: "19,16",
    problem: |parameters| {
        let [scale, factor] = size::numbers(parameters, ',', 1)?;
        let (largest, least) = (kronecker::LARGEST_SCALE, 1024);
        let vertices = if scale <= largest { 1 << scale } else { scale };
        if vertices > 1 << largest || (scale > largest && vertices < least) {
            return Err(format!(
                "a scale is at most {largest}, or vertices {least} to 2^{largest}"
            ));
        }
        // The edges as a list, both ways in order, and as neighbours of both of their ends; for
        // each vertex where its neighbours are, its place in the queue and its parent.
        let edges = size::product(&[vertices, factor]);
        let vertex = size_of::<Vertex>();
        let bytes = edges
            .saturating_mul(8 * vertex as u128)
            .saturating_add(size::product(&[vertices, 2 * (size_of::<usize>() + vertex)]));
        Ok(Problem::new(bytes, move |seed| {
            let mut random = Random::new(seed);
            let edges = kronecker::generate(vertices, factor, &mut random);
            let graph = Graph::new(&edges);
            // A random vertex that has neighbours, where there is one.
            let root = graph.random_root(&mut random);
            let search = Search::new(vertices);
            Searching { edges: Arc::new(edges), graph: Arc::new(graph), root, search }
        }))
    },
    ..App::BLANK
};

#[derive(Clone)]
struct Searching {
    edges: Arc<Edges>,
    graph: Arc<Graph>,
    root: Vertex,
    search: Search,
}

impl Instance for Searching {
    fn reset(&mut self) {
        self.search.reset();
    }

    fork_join!(self, fork => fork_join::search(fork, &self.graph, &self.search, self.root));

    fn check(&self) -> Result<(), String> {
        check::tree(&self.edges, self.root, &self.search.parents())
    }
}
