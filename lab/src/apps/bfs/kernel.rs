//! The search: a queue in which each level follows the one before, and the parent of each vertex
//! that was reached.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::graph::{Graph, Vertex};
use crate::fork::Fork;

/// Vertices of a leaf of the parallel versions, at most.
pub(super) const LEAF_VERTICES: usize = 64;

/// Edges of a leaf: some microseconds. A vertex that has more of them is divided.
pub(super) const LEAF_EDGES: usize = 1024;

/// The parent of a vertex that was not reached.
pub(super) const NONE: Vertex = Vertex::MAX;

/// Vertices that a leaf collects before it takes places for them in the queue.
const COLLECTED: usize = 64;

/// What is known during a search.
///
/// All accesses are relaxed. A claim is a matter of one word, which the word's own order decides;
/// and what is put into the queue is read in the next level, which begins when all tasks of this
/// one have been waited for.
#[derive(Debug)]
pub(super) struct Search {
    parents: Vec<AtomicU32>,
    queue: Vec<AtomicU32>,
    /// The places in the queue that are taken.
    taken: AtomicUsize,
}

/// The clone has reached nothing yet.
impl Clone for Search {
    fn clone(&self) -> Search {
        Search::new(self.parents.len())
    }
}

impl Search {
    /// One that has reached nothing yet.
    pub(super) fn new(vertices: usize) -> Search {
        let fill = || (0..vertices).map(|_| AtomicU32::new(NONE)).collect();
        Search { parents: fill(), queue: fill(), taken: AtomicUsize::new(0) }
    }

    /// Forgets what was reached.
    pub(super) fn reset(&mut self) {
        self.parents.iter_mut().for_each(|parent| *parent.get_mut() = NONE);
        *self.taken.get_mut() = 0;
    }

    /// The parent of each vertex, [`NONE`] where it was not reached; the root is its own.
    pub(super) fn parents(&self) -> Vec<Vertex> {
        self.parents.iter().map(|parent| parent.load(Ordering::Relaxed)).collect()
    }

    /// Searches from `root` on. `expand` does for a range of the queue what
    /// [`expand`](Self::expand) does for a part of it.
    pub(super) fn run(&self, root: Vertex, expand: impl Fn(Range<usize>)) {
        self.parents[root as usize].store(root, Ordering::Relaxed);
        self.put(&[root]);
        let mut level = 0..1;
        while !level.is_empty() {
            let end = level.end;
            expand(level);
            level = end..self.taken.load(Ordering::Relaxed);
        }
    }

    /// The vertex at a place in the queue.
    #[inline]
    pub(super) fn vertex(&self, place: usize) -> Vertex {
        self.queue[place].load(Ordering::Relaxed)
    }

    /// Visits all neighbours of the vertices at these places. Never inlined, so that all versions
    /// execute the same code, but for how they claim.
    #[inline(never)]
    pub(super) fn expand<F: Fork>(&self, graph: &Graph, places: Range<usize>) {
        let mut reached = Reached::new(self);
        for place in places {
            let vertex = self.vertex(place);
            reached.visit::<F>(vertex, graph.neighbours(vertex));
        }
        reached.put();
    }

    /// Visits some neighbours of a vertex that has too many for one leaf.
    #[inline(never)]
    pub(super) fn visit<F: Fork>(&self, vertex: Vertex, neighbours: &[Vertex]) {
        let mut reached = Reached::new(self);
        reached.visit::<F>(vertex, neighbours);
        reached.put();
    }

    /// Puts vertices into the queue.
    fn put(&self, vertices: &[Vertex]) {
        let first = self.taken.fetch_add(vertices.len(), Ordering::Relaxed);
        for (place, &vertex) in self.queue[first..].iter().zip(vertices) {
            place.store(vertex, Ordering::Relaxed);
        }
    }
}

/// Makes a vertex the parent of one, if that had none: whether it became it.
#[inline]
fn claim<F: Fork>(parent: &AtomicU32, vertex: Vertex) -> bool {
    if parent.load(Ordering::Relaxed) != NONE {
        return false;
    }
    if F::IS_PARALLEL {
        return parent.compare_exchange(NONE, vertex, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    }
    parent.store(vertex, Ordering::Relaxed);
    true
}

/// Vertices that a leaf has reached and not yet put into the queue.
struct Reached<'a> {
    search: &'a Search,
    vertices: [Vertex; COLLECTED],
    number: usize,
}

impl<'a> Reached<'a> {
    fn new(search: &'a Search) -> Reached<'a> {
        Reached { search, vertices: [NONE; COLLECTED], number: 0 }
    }

    #[inline]
    fn visit<F: Fork>(&mut self, vertex: Vertex, neighbours: &[Vertex]) {
        for &neighbour in neighbours {
            if claim::<F>(&self.search.parents[neighbour as usize], vertex) {
                if self.number == COLLECTED {
                    self.put();
                }
                self.vertices[self.number] = neighbour;
                self.number += 1;
            }
        }
    }

    fn put(&mut self) {
        if self.number > 0 {
            self.search.put(&self.vertices[..self.number]);
            self.number = 0;
        }
    }
}
