//! The graph, and what its tree must be.

use std::collections::VecDeque;

/// The neighbours of each vertex.
pub(crate) type Graph = Vec<Vec<u32>>;
/// The parent of each vertex that was reached, and itself for the root, vertex 0.
pub(crate) type Tree = Vec<Option<u32>>;

/// As Graph500: 16 edges for each of 2^scale vertices, in the quarters of the matrix by chances of
/// 0.57, 0.19, 0.19 and 0.05. Only edges of vertices that `is_wanted` are kept.
pub(crate) fn graph(scale: u32, is_wanted: impl Fn(u32) -> bool) -> Graph {
    let mut graph = vec![Vec::new(); 1 << scale];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..16 << scale {
        let (mut from, mut to) = (0, 0);
        for _ in 0..scale {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (down, right) = match random % 100 {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (from, to) = (2 * from + down, 2 * to + right);
        }
        for (vertex, other) in [(from, to), (to, from)] {
            if is_wanted(vertex) {
                graph[vertex as usize].push(other);
            }
        }
    }
    graph
}

/// The depths by a sequential search.
fn depths(graph: &Graph) -> Vec<Option<u32>> {
    let mut depths = vec![None; graph.len()];
    depths[0] = Some(0);
    let mut queue = VecDeque::from([0]);
    while let Some(vertex) = queue.pop_front() {
        let below = depths[vertex as usize].map(|depth| depth + 1);
        for &other in &graph[vertex as usize] {
            if depths[other as usize].is_none() {
                depths[other as usize] = below;
                queue.push_back(other);
            }
        }
    }
    depths
}

/// Returns the number of vertices that were reached, and the largest depth.
pub(crate) fn validate(tree: &Tree, graph: &Graph) -> (usize, u32) {
    let depths = depths(graph);
    assert_eq!(tree[0], Some(0));
    for (vertex, parent) in tree.iter().enumerate() {
        assert_eq!(parent.is_some(), depths[vertex].is_some(), "vertex {vertex}");
        if let (Some(parent), true) = (parent, vertex > 0) {
            assert!(graph[*parent as usize].contains(&(vertex as u32)), "{parent} to {vertex}");
            assert_eq!(depths[vertex], depths[*parent as usize].map(|it| it + 1), "{vertex}");
        }
    }
    (tree.iter().flatten().count(), depths.into_iter().flatten().max().unwrap_or(0))
}
