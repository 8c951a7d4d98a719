//! `bfs(scale,edgefactor)`: breadth-first search from one vertex of a large graph, level by level:
//! BFS of the BWS paper (section 5.1), on the graph of Graph500 (the specification, version 1.2) or
//! on one from a file. All vertices of a level are expanded in parallel; the task that reaches a new
//! vertex first becomes its parent. Little is done at an edge, and the vertices of Graph500's graph
//! have very different numbers of them.

mod check;
mod file;
mod fork_join;
mod graph;
mod kernel;
mod kronecker;
mod serial;

use std::path::Path;
use std::sync::Arc;

use super::fork::fork_join;
use super::{App, Instance, Problem, size};
use crate::random::Random;
use graph::{Edges, Graph, Vertex};
use kernel::Search;

/// What a size begins with that names a file.
const FILE: &str = "file:";

/// The application.
pub static APP: App = App {
    name: "bfs",
    about: "breadth-first search on the Graph500 graph of 2^SCALE vertices with EDGEFACTOR times as \
        many edges, or on a file's",
    syntax: "SCALE,EDGEFACTOR or file:PATH",
    paper_size: "21,16",
    quick_size: "19,16",
    problem: |parameters| {
        if let Some(path) = parameters.strip_prefix(FILE) {
            let edges = file::read(Path::new(path))?;
            return Ok(Box::new(Listed { path: path.to_owned(), edges: Arc::new(edges) }));
        }
        let [scale, factor] = size::numbers(parameters, ',', 1)?;
        if scale > kronecker::LARGEST_SCALE {
            return Err(format!("the scale can be at most {}", kronecker::LARGEST_SCALE));
        }
        Ok(Box::new(Generated { scale, factor }))
    },
    ..App::BLANK
};

/// A graph to be generated.
#[derive(Debug, Clone, Copy)]
struct Generated {
    scale: usize,
    factor: usize,
}

impl Problem for Generated {
    fn parameters(&self) -> String {
        format!("{},{}", self.scale, self.factor)
    }

    fn bytes(&self) -> u128 {
        let edges = size::product(&[1 << self.scale, self.factor]);
        bytes(1 << self.scale, edges)
    }

    fn prepare(&self, seed: u64) -> Box<dyn Instance> {
        let mut random = Random::new(seed);
        let edges = kronecker::generate(self.scale, self.factor, &mut random);
        Box::new(Searching::new(Arc::new(edges), &mut random))
    }
}

/// A graph from a file.
#[derive(Debug, Clone)]
struct Listed {
    path: String,
    edges: Arc<Edges>,
}

impl Problem for Listed {
    fn parameters(&self) -> String {
        format!("{FILE}{}", self.path)
    }

    fn bytes(&self) -> u128 {
        bytes(self.edges.vertices as u128, self.edges.list.len() as u128)
    }

    fn prepare(&self, seed: u64) -> Box<dyn Instance> {
        Box::new(Searching::new(self.edges.clone(), &mut Random::new(seed)))
    }
}

/// The memory that a search needs: the edges as a list and as neighbours of both of their ends; for
/// each vertex where its neighbours are, its place in the queue and its parent.
fn bytes(vertices: u128, edges: u128) -> u128 {
    let vertex = size_of::<Vertex>() as u128;
    edges
        .saturating_mul(4 * vertex)
        .saturating_add(vertices * (2 * size_of::<usize>() as u128 + 2 * vertex))
}

struct Searching {
    edges: Arc<Edges>,
    graph: Arc<Graph>,
    root: Vertex,
    search: Search,
}

impl Searching {
    /// The search from a random vertex that has neighbours, where there is one.
    fn new(edges: Arc<Edges>, random: &mut Random) -> Searching {
        let graph = Arc::new(Graph::new(&edges));
        let root = graph.random_root(random);
        let search = Search::new(edges.vertices);
        Searching { edges, graph, root, search }
    }
}

impl Clone for Searching {
    fn clone(&self) -> Searching {
        Searching {
            edges: self.edges.clone(),
            graph: self.graph.clone(),
            root: self.root,
            search: Search::new(self.edges.vertices),
        }
    }
}

impl Instance for Searching {
    fn reset(&mut self) {
        self.search.reset();
    }

    fn serial(&mut self) {
        serial::search(&self.graph, &self.search, self.root);
    }

    fork_join!(self, fork => fork_join::search(fork, &self.graph, &self.search, self.root));

    fn check(&self) -> Result<(), String> {
        check::tree(&self.edges, self.root, &self.search.parents())
    }
}
