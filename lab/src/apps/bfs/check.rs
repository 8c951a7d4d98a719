//! The tree is checked by Graph500's rules (the specification, version 1.2, "Validation"), against
//! the list of edges and not the graph that was searched.
//!
//! 1. It is a tree, without cycles, and the root its own parent.
//! 2. Each of its edges leads from one level to the next.
//! 3. Each edge of the list connects vertices with levels that differ by one at most, or two that
//!    were not reached.
//! 4. So the tree spans the whole component of the root.
//! 5. A vertex and its parent are connected by an edge of the list.
//!
//! By the second rule no vertex's level is below its distance from the root, and by the third none
//! is above it.

use super::graph::{Edges, Vertex};
use super::kernel::NONE;

/// Whether `parents` is the tree of a breadth-first search from `root`.
pub(super) fn tree(edges: &Edges, root: Vertex, parents: &[Vertex]) -> Result<(), String> {
    if parents.len() != edges.vertices {
        return Err(format!("{} parents for {} vertices", parents.len(), edges.vertices));
    }
    let levels = levels(root, parents)?;
    let level = |vertex: Vertex| levels[vertex as usize];
    let mut is_joined = vec![false; edges.vertices];
    for &[a, b] in &edges.list {
        match (level(a), level(b)) {
            (None, None) => {}
            (Some(one), Some(other)) if one.abs_diff(other) <= 1 => {}
            (Some(one), Some(other)) => {
                return Err(format!("the edge from {a} to {b} leads from level {one} to {other}"));
            }
            _ => return Err(format!("only one end of the edge from {a} to {b} was reached")),
        }
        for (vertex, other) in [(a, b), (b, a)] {
            is_joined[vertex as usize] |= parents[vertex as usize] == other;
        }
    }
    // The root needs no edge to itself.
    is_joined[root as usize] = true;
    match (0..).zip(parents).find(|&(vertex, &parent)| parent != NONE && !is_joined[vertex]) {
        Some((vertex, parent)) => {
            Err(format!("there is no edge from {vertex} to its parent {parent}"))
        }
        None => Ok(()),
    }
}

/// The level of each vertex that was reached: how many parents lie between it and the root, itself
/// included.
fn levels(root: Vertex, parents: &[Vertex]) -> Result<Vec<Option<u32>>, String> {
    if parents[root as usize] != root {
        return Err(format!("the root {root} is not its own parent"));
    }
    let mut levels = vec![None; parents.len()];
    levels[root as usize] = Some(0);
    let mut path = Vec::new();
    for (start, &parent) in (0..).zip(parents) {
        if parent == NONE {
            continue;
        }
        let mut vertex: Vertex = start;
        while levels[vertex as usize].is_none() {
            path.push(vertex);
            vertex = parents[vertex as usize];
            if vertex == NONE || path.len() > parents.len() {
                return Err(format!("the parents of {start} do not lead to the root"));
            }
            if vertex as usize >= parents.len() {
                return Err(format!("{vertex} is a parent and no vertex"));
            }
        }
        let mut level = levels[vertex as usize];
        while let Some(vertex) = path.pop() {
            level = level.map(|level| level + 1);
            levels[vertex as usize] = level;
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::super::graph::Graph;
    use super::super::kernel::Search;
    use super::super::{fork_join, kronecker};
    use super::*;
    use crate::fork::Serial;
    use crate::random::Random;

    /// A square with a tail, an edge to itself, a double one, and a component of its own:
    /// 0-1-2-3-0, 2-4, 5-6.
    fn square() -> Edges {
        let list = vec![[0, 1], [1, 2], [2, 3], [3, 0], [4, 2], [1, 1], [2, 1], [5, 6]];
        Edges { vertices: 7, list }
    }

    const TREE: [Vertex; 7] = [0, 0, 1, 0, 2, NONE, NONE];

    fn refusal(changes: &[(usize, Vertex)]) -> String {
        let mut parents = TREE;
        for &(vertex, parent) in changes {
            parents[vertex] = parent;
        }
        tree(&square(), 0, &parents).expect_err("a wrong tree")
    }

    #[test]
    fn every_rule_is_checked() {
        tree(&square(), 0, &TREE).unwrap();
        let mut other = TREE;
        other[2] = 3;
        tree(&square(), 0, &other).unwrap();
        // One: no cycles, and a root.
        assert!(refusal(&[(0, 1)]).contains("own parent"));
        assert!(refusal(&[(2, 4)]).contains("lead to the root"));
        assert!(refusal(&[(4, 4)]).contains("lead to the root"));
        assert!(refusal(&[(4, 5)]).contains("lead to the root"));
        assert!(refusal(&[(4, 7)]).contains("no vertex"));
        // Two and three: a detour makes a level too high.
        assert!(refusal(&[(3, 2)]).contains("leads from level"));
        // Four: the whole component, and nothing else.
        assert!(refusal(&[(4, NONE)]).contains("only one end"));
        assert!(refusal(&[(5, 0)]).contains("only one end"));
        // Five: an edge that is none.
        assert!(refusal(&[(5, 0), (6, 5)]).contains("no edge from 5"));
        assert!(tree(&square(), 0, &TREE[..6]).is_err());
        assert!(tree(&square(), 1, &TREE).is_err());
    }

    #[test]
    fn a_search_finds_the_distances_that_relaxation_finds() {
        for seed in 0..5 {
            let mut random = Random::new(seed);
            let edges = kronecker::generate(128, 2, &mut random);
            let graph = Graph::new(&edges);
            let root = graph.random_root(&mut random);
            let search = Search::new(edges.vertices);
            fork_join::search(&Serial, &graph, &search, root);
            tree(&edges, root, &search.parents()).unwrap();
            // Bellman and Ford's method: shorten until nothing gets shorter.
            let mut distances = vec![u32::MAX; edges.vertices];
            distances[root as usize] = 0;
            for _ in 0..edges.vertices {
                for [a, b] in edges.list.iter().flat_map(|&[a, b]| [[a, b], [b, a]]) {
                    let through = distances[a as usize].saturating_add(1);
                    let distance = &mut distances[b as usize];
                    *distance = through.min(*distance);
                }
            }
            let levels = levels(root, &search.parents()).unwrap();
            for (level, distance) in levels.into_iter().zip(distances) {
                assert_eq!(level.unwrap_or(u32::MAX), distance);
            }
        }
    }
}
