//! A hierarchy of bounding boxes over the spheres: halved at the median of the longest side, down
//! to a few. A ray visits the nearer half first, and no box that begins behind what it has met
//! already.

use std::ops::Range;

use glam::DVec3;

use super::balls::Sphere;
use crate::apps::rendering::Ray;

/// Spheres of a leaf, at most.
const LEAF: usize = 4;

/// A sphere that a ray meets, and how far from its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Meeting {
    pub(super) distance: f64,
    pub(super) sphere: usize,
}

/// The spheres and the boxes around them.
#[derive(Debug, Clone)]
pub(super) struct Hierarchy {
    spheres: Vec<Sphere>,
    /// The first is the whole; a box stands right before the lower of its halves.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    low: DVec3,
    high: DVec3,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Spheres(Range<usize>),
    /// Two halves along an axis: the lower is the next node, and here is the upper one.
    Halves {
        axis: usize,
        upper: usize,
    },
}

/// What is looked for along a ray, and what has been found this far.
struct Search {
    ray: Ray,
    /// One over each number of the direction: every box asks for it.
    inverse: DVec3,
    nearest: f64,
    farthest: f64,
    found: Option<usize>,
}

impl Hierarchy {
    /// The hierarchy over at least one sphere.
    pub(super) fn new(mut spheres: Vec<Sphere>) -> Hierarchy {
        let mut nodes = Vec::new();
        let number = spheres.len();
        build(&mut spheres, 0..number, &mut nodes);
        Hierarchy { spheres, nodes }
    }

    /// The sphere with this number.
    pub(super) fn sphere(&self, number: usize) -> &Sphere {
        &self.spheres[number]
    }

    /// The first sphere that `ray` meets between `nearest` and `farthest`.
    pub(super) fn first(&self, ray: Ray, nearest: f64, farthest: f64) -> Option<Meeting> {
        let mut search = Search::new(ray, nearest, farthest);
        self.visit::<false>(0, &mut search);
        search.found.map(|sphere| Meeting { distance: search.farthest, sphere })
    }

    /// Whether `ray` meets any sphere between `nearest` and `farthest`.
    pub(super) fn any(&self, ray: Ray, nearest: f64, farthest: f64) -> bool {
        let mut search = Search::new(ray, nearest, farthest);
        self.visit::<true>(0, &mut search);
        search.found.is_some()
    }

    /// Searches a node. Where `ANY` sphere will do, the first one found ends the search.
    fn visit<const ANY: bool>(&self, node: usize, search: &mut Search) {
        let Node { low, high, content } = &self.nodes[node];
        if (ANY && search.found.is_some()) || !search.passes(*low, *high) {
            return;
        }
        match content {
            Content::Spheres(range) => {
                for number in range.clone() {
                    search.meet(number, &self.spheres[number]);
                }
            }
            Content::Halves { axis, upper } => {
                let is_upward = search.ray.direction[*axis] >= 0.0;
                let lower = node + 1;
                let (near, far) = if is_upward { (lower, *upper) } else { (*upper, lower) };
                self.visit::<ANY>(near, search);
                self.visit::<ANY>(far, search);
            }
        }
    }
}

impl Search {
    fn new(ray: Ray, nearest: f64, farthest: f64) -> Search {
        let inverse = ray.direction.recip();
        Search { ray, inverse, nearest, farthest, found: None }
    }

    /// Whether the ray passes through the box where something is looked for: it must be between all
    /// three pairs of sides at once. A ray along a side gives NaN there, which minimum and maximum
    /// pass over.
    fn passes(&self, low: DVec3, high: DVec3) -> bool {
        let (mut enters, mut leaves) = (self.nearest, self.farthest);
        for axis in 0..3 {
            let origin = self.ray.origin[axis];
            let one = (low[axis] - origin) * self.inverse[axis];
            let other = (high[axis] - origin) * self.inverse[axis];
            enters = enters.max(one.min(other));
            leaves = leaves.min(one.max(other));
        }
        enters <= leaves
    }

    /// Takes note of a sphere, if the ray meets it before all others.
    fn meet(&mut self, number: usize, sphere: &Sphere) {
        let distance = distance(&self.ray, sphere);
        if distance.is_some_and(|distance| (self.nearest..self.farthest).contains(&distance)) {
            self.farthest = distance.unwrap_or(self.farthest);
            self.found = Some(number);
        }
    }
}

/// How far along `ray` the nearer of the points lies at which it meets `sphere`, before or behind
/// its origin. (The farther one does not matter: no ray begins inside of a sphere.)
fn distance(ray: &Ray, sphere: &Sphere) -> Option<f64> {
    let to_centre = sphere.centre - ray.origin;
    let along = to_centre.dot(ray.direction);
    let aside = to_centre - ray.direction * along;
    let half_chord_squared = sphere.radius * sphere.radius - aside.dot(aside);
    (half_chord_squared >= 0.0).then(|| along - half_chord_squared.sqrt())
}

/// Puts the spheres of `range` in order and adds their nodes.
fn build(spheres: &mut [Sphere], range: Range<usize>, nodes: &mut Vec<Node>) {
    let (low, high) = bounds(&spheres[range.clone()]);
    let node = nodes.len();
    nodes.push(Node { low, high, content: Content::Spheres(range.clone()) });
    if range.len() <= LEAF {
        return;
    }
    let axis = (high - low).max_position();
    let middle = range.start + range.len() / 2;
    spheres[range.clone()].select_nth_unstable_by(middle - range.start, |a, b| {
        a.centre[axis].total_cmp(&b.centre[axis])
    });
    build(spheres, range.start..middle, nodes);
    let upper = nodes.len();
    build(spheres, middle..range.end, nodes);
    nodes[node].content = Content::Halves { axis, upper };
}

/// The corners of the box around `spheres`.
fn bounds(spheres: &[Sphere]) -> (DVec3, DVec3) {
    spheres.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), sphere| {
        (low.min(sphere.centre - sphere.radius), high.max(sphere.centre + sphere.radius))
    })
}

#[cfg(test)]
mod tests {
    use super::super::balls;
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_first_sphere_is_the_one_that_a_look_at_all_of_them_finds() {
        let hierarchy = Hierarchy::new(balls::spheres(3));
        let mut random = Random::new(4);
        let mut met = 0;
        for _ in 0..1000 {
            let mut point =
                |size: f64| DVec3::from_array(std::array::from_fn(|_| size * random.next_signed()));
            let (origin, target) = (point(1.0).normalize() * 3.0, point(1.0));
            let ray = Ray { origin, direction: (target - origin).normalize() };
            let expected = hierarchy
                .spheres
                .iter()
                .filter_map(|sphere| distance(&ray, sphere))
                .filter(|&distance| distance >= 1e-6)
                .min_by(f64::total_cmp);
            let found = hierarchy.first(ray, 1e-6, f64::INFINITY).map(|met| met.distance);
            assert_eq!(found, expected);
            assert_eq!(hierarchy.any(ray, 1e-6, f64::INFINITY), expected.is_some());
            if let Some(distance) = expected {
                assert!(!hierarchy.any(ray, 1e-6, distance));
                met += 1;
            }
        }
        assert!((100..900).contains(&met), "{met} of 1000 rays met a sphere");
    }

    #[test]
    fn a_sphere_is_met_where_geometry_says() {
        let sphere = Sphere { centre: DVec3::new(0.0, 0.0, 5.0), radius: 3.0 };
        let up =
            |x: f64| Ray { origin: DVec3::new(x, 0.0, 0.0), direction: DVec3::new(0.0, 0.0, 1.0) };
        assert_eq!(distance(&up(0.0), &sphere), Some(2.0));
        assert_eq!(distance(&up(3.0), &sphere), Some(5.0));
        assert_eq!(distance(&up(3.1), &sphere), None);
    }
}
