//! Graphs: as lists of edges, and as the neighbours of each vertex.

use crate::random::Random;

/// A vertex. Vertices are numbered from 0 on.
pub(super) type Vertex = u32;

/// A list of undirected edges, among which some may be there twice, and some lead back to where
/// they begin.
#[derive(Debug)]
pub(super) struct Edges {
    pub(super) vertices: usize,
    pub(super) list: Vec<[Vertex; 2]>,
}

/// The neighbours of each vertex, in order, each once, and none its own.
#[derive(Debug)]
pub(super) struct Graph {
    /// Where each vertex's neighbours begin, and the last one's end.
    starts: Vec<usize>,
    neighbours: Vec<Vertex>,
}

impl Graph {
    /// The graph with these edges. Their order leaves no trace, so Graph500's shuffling of them is
    /// not needed.
    pub(super) fn new(edges: &Edges) -> Graph {
        let distinct = edges.list.iter().filter(|[a, b]| a != b);
        let mut ends: Vec<[Vertex; 2]> = distinct.flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut starts = vec![0; edges.vertices + 1];
        for [from, _] in &ends {
            starts[*from as usize + 1] += 1;
        }
        for vertex in 0..edges.vertices {
            starts[vertex + 1] += starts[vertex];
        }
        Graph { starts, neighbours: ends.into_iter().map(|[_, to]| to).collect() }
    }

    /// The neighbours of a vertex.
    #[inline]
    pub(super) fn neighbours(&self, vertex: Vertex) -> &[Vertex] {
        let vertex = vertex as usize;
        &self.neighbours[self.starts[vertex]..self.starts[vertex + 1]]
    }

    /// A random vertex that has neighbours, as Graph500 wants it; where none has, the first.
    pub(super) fn random_root(&self, random: &mut Random) -> Vertex {
        if self.neighbours.is_empty() {
            return 0;
        }
        let vertices = self.starts.len() as u64 - 1;
        loop {
            let vertex = (random.next_u64() % vertices) as Vertex;
            if !self.neighbours(vertex).is_empty() {
                return vertex;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_those_at_the_other_ends_of_edges() {
        let list = vec![[0, 3], [3, 0], [1, 1], [4, 3], [0, 4], [0, 3]];
        let graph = Graph::new(&Edges { vertices: 5, list });
        let expected: [&[Vertex]; 5] = [&[3, 4], &[], &[], &[0, 4], &[0, 3]];
        for (vertex, expected) in (0..).zip(expected) {
            assert_eq!(graph.neighbours(vertex), expected);
        }
        for seed in 0..50 {
            assert!([0, 3, 4].contains(&graph.random_root(&mut Random::new(seed))));
        }
    }

    #[test]
    fn a_graph_may_have_no_edges() {
        for list in [vec![], vec![[1, 1]]] {
            let graph = Graph::new(&Edges { vertices: 2, list });
            assert!(graph.neighbours(1).is_empty());
            assert_eq!(graph.random_root(&mut Random::new(1)), 0);
        }
    }
}
