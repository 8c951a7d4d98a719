//! The tree of Barnes and Hut (Nature 324, 1986): a cube that holds all bodies, divided into eight
//! where it holds more than a few.
//!
//! It is grown by divide and conquer and needs no locks: the bodies are put in order, so that those
//! of a cube are next to one another, and each eighth of a cube is a slice of its own.

use glam::DVec3;

use super::body::{Body, Bounds};

/// Bodies of a leaf, at most.
const LEAF: usize = 8;

/// How often a cube is divided, at most: bodies in one place cannot be told apart.
const DEEPEST: usize = 48;

/// Where the parallel versions stop to fork: some tens of microseconds.
pub(super) const GROW_LEAF: usize = 512;

/// How large a cube may look from where it is seen as one body: its side divided by the distance of
/// its centre of mass. Below 1/√3 no body is ever within a cube that it sees as one.
pub(super) const OPENING: f64 = 0.5;

/// A cube with bodies in it.
#[derive(Debug)]
pub(super) struct Node {
    /// The centre of mass.
    pub(super) centre: DVec3,
    pub(super) mass: f64,
    /// The square of the distance from which on it is seen as one body.
    pub(super) far_squared: f64,
    /// Its bodies are those from `first` until before `end`.
    pub(super) first: u32,
    pub(super) end: u32,
    /// The eighths of it that have bodies; none in a leaf.
    pub(super) eighths: Box<[Node]>,
}

/// Bodies that lie in a cube, to be put in order.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) bodies: &'a mut [Body],
    first: usize,
    middle: DVec3,
    side: f64,
    depth: usize,
}

impl<'a> Part<'a> {
    /// All bodies, within `bounds`.
    pub(super) fn whole(bodies: &'a mut [Body], bounds: Bounds) -> Part<'a> {
        let Bounds { low, high } = bounds;
        let (middle, side) = ((low + high) / 2.0, (high - low).max_element());
        Part { bodies, first: 0, middle, side, depth: 0 }
    }

    /// Whether this is not to be divided.
    pub(super) fn is_leaf(&self) -> bool {
        self.bodies.len() <= LEAF || self.depth == DEEPEST
    }

    /// Puts the bodies in order and returns the eighths that have some, with the side of the cube.
    pub(super) fn eighths(self) -> (Vec<Part<'a>>, f64) {
        let side = self.side;
        let mut parts = vec![self];
        for axis in 0..3 {
            parts = parts.into_iter().flat_map(|part| part.halves(axis)).collect();
        }
        for part in &mut parts {
            part.side /= 2.0;
            part.depth += 1;
        }
        (parts, side)
    }

    /// The halves along an axis that have bodies.
    fn halves(self, axis: usize) -> impl Iterator<Item = Part<'a>> {
        let Part { bodies, first, middle, side, depth } = self;
        let number = partition(bodies, axis, middle[axis]);
        let (lower, upper) = bodies.split_at_mut(number);
        let half = |bodies: &'a mut [Body], first: usize, by: f64| {
            let mut middle = middle;
            middle[axis] += by;
            Part { bodies, first, middle, side, depth }
        };
        let halves = [half(lower, first, -side / 4.0), half(upper, first + number, side / 4.0)];
        halves.into_iter().filter(|part| !part.bodies.is_empty())
    }
}

/// Puts those below `at` first; says how many they are. What is in order already is not moved.
fn partition(bodies: &mut [Body], axis: usize, at: f64) -> usize {
    let (mut low, mut high) = (0, bodies.len());
    loop {
        while low < high && bodies[low].position[axis] < at {
            low += 1;
        }
        while low < high && bodies[high - 1].position[axis] >= at {
            high -= 1;
        }
        if low == high {
            return low;
        }
        bodies.swap(low, high - 1);
    }
}

impl Node {
    /// A cube that is not divided.
    pub(super) fn leaf(part: Part<'_>) -> Node {
        let masses = part.bodies.iter().map(|body| (body.mass, body.position));
        let (mass, centre) = centre_of_mass(masses);
        let (first, end) = (part.first as u32, (part.first + part.bodies.len()) as u32);
        Node {
            centre,
            mass,
            far_squared: far_squared(part.side),
            first,
            end,
            eighths: Box::new([]),
        }
    }

    /// A cube with that side, of which these are the eighths that have bodies, in order; at least
    /// one.
    pub(super) fn cube(eighths: Vec<Node>, side: f64) -> Node {
        let (mass, centre) = centre_of_mass(eighths.iter().map(|node| (node.mass, node.centre)));
        let (first, end) = (eighths[0].first, eighths[eighths.len() - 1].end);
        let far_squared = far_squared(side);
        Node { centre, mass, far_squared, first, end, eighths: eighths.into_boxed_slice() }
    }
}

fn far_squared(side: f64) -> f64 {
    (side / OPENING) * (side / OPENING)
}

fn centre_of_mass(masses: impl Iterator<Item = (f64, DVec3)>) -> (f64, DVec3) {
    let (mass, moment) = masses.fold((0.0, DVec3::ZERO), |(sum, moment), (mass, position)| {
        (sum + mass, moment + mass * position)
    });
    (mass, moment / mass)
}

/// Grows the tree of a part serially.
pub(super) fn grow(part: Part<'_>) -> Node {
    if part.is_leaf() {
        return Node::leaf(part);
    }
    let (parts, side) = part.eighths();
    Node::cube(parts.into_iter().map(grow).collect(), side)
}

#[cfg(test)]
mod tests {
    use super::super::plummer;
    use super::*;
    use crate::random::Random;

    /// Checks a node with a cube of this side, and returns the number of its leaves.
    fn leaves(node: &Node, bodies: &[Body], side: f64) -> usize {
        let range = node.first as usize..node.end as usize;
        assert!(!range.is_empty());
        let bounds = Bounds::of(&bodies[range.clone()]);
        for axis in 0..3 {
            assert!(bounds.high[axis] - bounds.low[axis] <= side * (1.0 + 1e-12));
            let (low, high) = (bounds.low[axis] - 1e-12, bounds.high[axis] + 1e-12);
            assert!((low..=high).contains(&node.centre[axis]));
        }
        assert!(
            (node.mass - bodies[range.clone()].iter().map(|b| b.mass).sum::<f64>()).abs() < 1e-9
        );
        assert_eq!(node.far_squared, (side / OPENING).powi(2));
        let mut first = node.first;
        for eighth in &node.eighths {
            assert_eq!(eighth.first, first);
            first = eighth.end;
        }
        if node.eighths.is_empty() {
            assert!(range.len() <= LEAF);
            return 1;
        }
        assert_eq!(first, node.end);
        node.eighths.iter().map(|eighth| leaves(eighth, bodies, side / 2.0)).sum()
    }

    #[test]
    fn each_body_is_in_one_leaf_and_cubes_hold_what_they_say() {
        let mut bodies = plummer::sphere(3000, &mut Random::new(8));
        let bounds = Bounds::of(&bodies);
        let whole = Part::whole(&mut bodies, bounds);
        let side = whole.side;
        let tree = grow(whole);
        assert_eq!((tree.first, tree.end), (0, 3000));
        assert!(leaves(&tree, &bodies, side) > 3000 / LEAF);
    }

    #[test]
    fn what_is_in_order_stays_in_place_and_bodies_in_one_place_end_in_a_leaf() {
        let mut bodies = plummer::sphere(100, &mut Random::new(8));
        let bounds = Bounds::of(&bodies);
        grow(Part::whole(&mut bodies, bounds));
        let ordered = bodies.clone();
        grow(Part::whole(&mut bodies, bounds));
        assert_eq!(bodies, ordered);

        let mut bodies = vec![ordered[0]; 20];
        let bounds = Bounds::of(&bodies);
        let tree = grow(Part::whole(&mut bodies, bounds));
        assert_eq!((tree.first, tree.end), (0, 20));
        assert!((tree.mass - 20.0 * ordered[0].mass).abs() < 1e-12);
    }
}
