//! Polygons, and random pairs of them.

use std::f64::consts::TAU;

use crate::random::Random;

/// Across and up.
pub(super) type Point = [f64; 2];

/// The fewest corners that a polygon has.
pub(super) const FEWEST: usize = 3;

/// How far a random polygon reaches from its middle: a corner lies anywhere between the two.
const NEAREST: f64 = 0.25;
const FARTHEST: f64 = 1.0;

/// How far apart the middles of a pair are at most, in each direction. Most pairs overlap and some
/// do not.
const APART: f64 = 1.25;

/// Two simple polygons, counter-clockwise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair(pub(super) [Vec<Point>; 2]);

impl Pair {
    /// Two random polygons of at most that many corners.
    pub(super) fn random(vertices: usize, random: &mut Random) -> Pair {
        let beside = [APART * random.next_signed(), APART * random.next_signed()];
        Pair([[0.0, 0.0], beside].map(|middle| {
            let choices = (vertices - FEWEST + 1) as u64;
            star(middle, FEWEST + (random.next_u64() % choices) as usize, random)
        }))
    }
}

/// A polygon with all points visible from its middle, concave at many corners if it has many:
/// each corner has a direction of its own, in order, so no edge crosses another.
fn star(middle: Point, corners: usize, random: &mut Random) -> Vec<Point> {
    let mut between = |low: f64, high: f64| low + (high - low) * 0.5 * (1.0 + random.next_signed());
    (0..corners)
        .map(|corner| {
            // At most 1.4/3 of a turn between neighbours: less than half of one, so the middle is
            // always inside.
            let turns = (corner as f64 + between(0.0, 0.4)) / corners as f64;
            let reach = between(NEAREST, FARTHEST);
            let (sine, cosine) = (TAU * turns).sin_cos();
            [middle[0] + reach * cosine, middle[1] + reach * sine]
        })
        .collect()
}

/// The edges of a polygon, from corner to corner.
pub(super) fn edges(polygon: &[Point]) -> impl Iterator<Item = [Point; 2]> + '_ {
    let ends = polygon.iter().cycle().skip(1);
    polygon.iter().zip(ends).map(|(&from, &to)| [from, to])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn([a, b]: [Point; 2], c: Point) -> f64 {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    }

    #[test]
    fn random_polygons_are_simple_and_mostly_concave() {
        let mut random = Random::new(4);
        let mut concave = 0;
        for _ in 0..200 {
            for polygon in Pair::random(12, &mut random).0 {
                assert!((FEWEST..=12).contains(&polygon.len()));
                let edges: Vec<_> = edges(&polygon).collect();
                let next = |number: usize| edges[(number + 1) % edges.len()];
                let mut corners = edges.iter().enumerate();
                concave +=
                    usize::from(corners.any(|(number, &one)| turn(one, next(number)[1]) < 0.0));
                for (number, &one) in edges.iter().enumerate() {
                    for &other in &edges[..number] {
                        let touches = one[0] == other[1] || one[1] == other[0];
                        let crosses = turn(one, other[0]) * turn(one, other[1]) < 0.0
                            && turn(other, one[0]) * turn(other, one[1]) < 0.0;
                        assert!(touches || !crosses, "{one:?} {other:?}");
                    }
                }
            }
        }
        // Triangles cannot be.
        assert!(concave > 200 && concave < 400, "{concave} of 400");
    }
}
