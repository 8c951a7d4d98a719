//! The scene "balls", the sphereflake of Eric Haines's Standard Procedural Databases ("A proposal
//! for standard graphics environments", IEEE Computer Graphics and Applications 7(11), 1987), and
//! its eye, lamps and colours.
//!
//! A sphere of radius r carries nine of radius r/3 on its surface, as seen along its own axis: six
//! around the equator and three around the pole. The axis of each points away from the sphere that
//! carries it, and so on. Depth 4 has 1 + 9 + 81 + 729 + 6561 = 7381 spheres. Below them is a
//! square floor.

use std::f64::consts::TAU;

use glam::DVec3;

use crate::apps::rendering::{Lamp, Surface, UP};

/// A sphere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sphere {
    pub(super) centre: DVec3,
    pub(super) radius: f64,
}

pub(super) const BALLS: Surface = Surface {
    colour: DVec3::new(1.0, 0.9, 0.7),
    diffuse: 0.5,
    highlight: 0.5,
    shine: 3,
    mirror: 0.5,
};
pub(super) const FLOOR: Surface = Surface {
    colour: DVec3::new(1.0, 0.75, 0.33),
    diffuse: 0.8,
    highlight: 0.0,
    shine: 0,
    mirror: 0.0,
};

/// The floor is the square of points that far from the vertical axis, at that height.
pub(super) const FLOOR_REACH: f64 = 12.0;
pub(super) const FLOOR_HEIGHT: f64 = -0.5;

/// What a ray sees that meets nothing.
pub(super) const BACKGROUND: DVec3 = DVec3::new(0.078, 0.361, 0.753);

pub(super) const EYE: DVec3 = DVec3::new(2.1, 1.3, 1.7);

pub(super) const LAMPS: [Lamp; 3] =
    [lamp(4.0, 3.0, 2.0), lamp(1.0, -4.0, 4.0), lamp(-3.0, 1.0, 5.0)];

/// As usual with these scenes: n lamps have a brightness of 1/√n each.
const fn lamp(x: f64, y: f64, z: f64) -> Lamp {
    Lamp { place: DVec3::new(x, y, z), brightness: 0.577_350_269_189_625_8 }
}

const RADIUS: f64 = 0.5;
const CHILDREN: usize = 9;
const SMALLER: f64 = 1.0 / 3.0;

/// The most that is generated: 48 million spheres.
const DEEPEST: usize = 8;

/// The number of spheres, if there can be that many.
pub(super) fn number(depth: usize) -> Option<usize> {
    (depth <= DEEPEST).then(|| (0..=depth as u32).map(|level| CHILDREN.pow(level)).sum())
}

/// The spheres.
pub(super) fn spheres(depth: usize) -> Vec<Sphere> {
    let mut spheres = Vec::new();
    grow(&mut spheres, Sphere { centre: DVec3::ZERO, radius: RADIUS }, UP, depth);
    spheres
}

/// Adds a sphere and what it carries.
fn grow(spheres: &mut Vec<Sphere>, sphere: Sphere, axis: DVec3, depth: usize) {
    spheres.push(sphere);
    if depth == 0 {
        return;
    }
    let radius = sphere.radius * SMALLER;
    for direction in directions() {
        let direction = turned(direction, axis);
        let centre = sphere.centre + direction * (sphere.radius + radius);
        grow(spheres, Sphere { centre, radius }, direction, depth - 1);
    }
}

/// Where the children lie of a sphere with an axis that points up: at nine of the twelve corners of
/// a cuboctahedron, without the three at its foot.
fn directions() -> [DVec3; CHILDREN] {
    std::array::from_fn(|child| {
        let is_at_equator = child < 6;
        let height: f64 = if is_at_equator { 0.0 } else { (2.0f64 / 3.0).sqrt() };
        let turns =
            if is_at_equator { child as f64 / 6.0 } else { 1.0 / 12.0 + child as f64 / 3.0 };
        let (sine, cosine) = (TAU * turns).sin_cos();
        let reach = (1.0 - height * height).sqrt();
        DVec3::new(reach * cosine, reach * sine, height)
    })
}

/// `direction`, turned as the shortest way turns the upward direction into `axis` (Rodrigues's
/// formula).
fn turned(direction: DVec3, axis: DVec3) -> DVec3 {
    let (pivot, cosine) = (UP.cross(axis), UP.dot(axis));
    let sine = pivot.length();
    if sine < 1e-9 {
        // Up stays up; down is reached over the first axis, as good as any.
        return if cosine > 0.0 { direction } else { direction * DVec3::new(1.0, -1.0, -1.0) };
    }
    let pivot = pivot.normalize();
    direction * cosine
        + pivot.cross(direction) * sine
        + pivot * (pivot.dot(direction) * (1.0 - cosine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_spheres_as_published() {
        for (depth, published) in [(0, 1), (1, 10), (2, 91), (3, 820), (4, 7381)] {
            assert_eq!(spheres(depth).len(), published);
            assert_eq!(number(depth), Some(published));
        }
        assert_eq!(number(DEEPEST + 1), None);
    }

    #[test]
    fn nine_children_touch_their_parent_and_none_touches_another() {
        let all = spheres(2);
        for parent in &all[..2] {
            let is_child = |child: &&Sphere| {
                let apart = (child.centre - parent.centre).length();
                let touches = (apart - parent.radius - child.radius).abs() < 1e-12;
                touches && (child.radius - parent.radius / 3.0).abs() < 1e-12
            };
            let children: Vec<&Sphere> = all.iter().filter(is_child).collect();
            assert_eq!(children.len(), 9);
            for (number, one) in children.iter().enumerate() {
                for other in &children[..number] {
                    assert!((one.centre - other.centre).length() > one.radius + other.radius);
                }
            }
        }
    }

    #[test]
    fn turning_keeps_lengths_and_takes_up_to_the_axis() {
        for axis in [UP, -UP, DVec3::new(0.6, 0.0, 0.8), DVec3::new(1.0, -2.0, -0.5).normalize()] {
            assert!((turned(UP, axis) - axis).length() < 1e-12);
            for direction in directions() {
                let turned = turned(direction, axis);
                assert!((turned.length() - 1.0).abs() < 1e-12);
                assert!((turned.dot(axis) - direction.dot(UP)).abs() < 1e-12);
            }
        }
    }
}
