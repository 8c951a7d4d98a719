//! The scene: a large mirroring ball, and small ones of all colours around it, on a chequered floor
//! without end.

use glam::DVec3;

use crate::apps::rendering::{Lamp, Surface};
use crate::random::Random;

/// A ball.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ball {
    pub(super) centre: DVec3,
    pub(super) radius: f64,
    pub(super) surface: Surface,
}

/// What there is to be seen. The floor is where the third number is zero.
#[derive(Debug, Clone)]
pub(super) struct Balls(pub(super) Vec<Ball>);

pub(super) const EYE: DVec3 = DVec3::new(-1.5, -9.0, 3.2);
pub(super) const LOOKS_AT: DVec3 = DVec3::new(0.0, 0.0, 0.7);
pub(super) const LAMPS: [Lamp; 2] = [
    Lamp { place: DVec3::new(-6.0, -7.0, 8.0), brightness: 0.7 },
    Lamp { place: DVec3::new(7.0, -3.0, 6.0), brightness: 0.4 },
];

/// The colours of the sky at the horizon and overhead.
const SKY: [DVec3; 2] = [DVec3::new(0.85, 0.9, 1.0), DVec3::new(0.25, 0.45, 0.85)];

/// The two surfaces of the floor, in squares of side one.
const FLOOR: [Surface; 2] = [tile(DVec3::new(0.9, 0.9, 0.85)), tile(DVec3::new(0.25, 0.25, 0.3))];

const fn tile(colour: DVec3) -> Surface {
    Surface { colour, diffuse: 0.8, highlight: 0.0, shine: 1, mirror: 0.15 }
}

/// The large ball stands in the middle.
const LARGE: f64 = 1.3;
/// The small ones stand in the cells of a square grid, one each, but for those that the large one
/// fills.
const CELLS: i32 = 3;
const CELL: f64 = 1.1;
/// The radii of the small ones.
const SMALLEST: f64 = 0.15;
const SMALL: f64 = 0.45;

impl Balls {
    /// A scene with random colours, sizes and places of the small balls.
    pub(super) fn random(random: &mut Random) -> Balls {
        let mirror = Surface {
            colour: DVec3::splat(0.95),
            diffuse: 0.1,
            highlight: 0.8,
            shine: 64,
            mirror: 0.8,
        };
        let middle = DVec3::new(0.0, 0.0, LARGE);
        let mut balls = vec![Ball { centre: middle, radius: LARGE, surface: mirror }];
        let cells = (-CELLS..=CELLS).flat_map(|x| (-CELLS..=CELLS).map(move |y| (x, y)));
        for (x, y) in cells.filter(|(x, y)| x.abs().max(y.abs()) > 1) {
            balls.push(small([x, y].map(|cell| CELL * f64::from(cell)), random));
        }
        Balls(balls)
    }
}

/// A ball that stands somewhere in the cell around `middle`.
fn small(middle: [f64; 2], random: &mut Random) -> Ball {
    let mut between = |low: f64, high: f64| low + (high - low) * 0.5 * (1.0 + random.next_signed());
    let radius = between(SMALLEST, SMALL);
    let room = CELL / 2.0 - radius;
    let [x, y] = middle.map(|number| number + between(-room, room));
    let surface = Surface {
        colour: DVec3::from_array(std::array::from_fn(|_| between(0.2, 1.0))),
        diffuse: 0.7,
        highlight: between(0.2, 0.8),
        shine: between(8.0, 80.0) as i32,
        mirror: between(0.0, 0.4),
    };
    Ball { centre: DVec3::new(x, y, radius), radius, surface }
}

/// The floor's surface at a point.
pub(super) fn floor(point: DVec3) -> &'static Surface {
    let is_dark = (point.x.floor() + point.y.floor()).rem_euclid(2.0) == 1.0;
    &FLOOR[usize::from(is_dark)]
}

/// What is seen in a direction, of length one, in which nothing is.
pub(super) fn sky(direction: DVec3) -> DVec3 {
    let height = direction.z.max(0.0);
    SKY[0] * (1.0 - height) + SKY[1] * height
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balls_stand_on_the_floor_beside_one_another() {
        for seed in 0..20 {
            let Balls(balls) = Balls::random(&mut Random::new(seed));
            assert_eq!(balls.len(), 1 + 7 * 7 - 9);
            for (number, one) in balls.iter().enumerate() {
                assert_eq!(one.centre.z, one.radius);
                for other in &balls[..number] {
                    let apart = (one.centre - other.centre).length();
                    assert!(apart >= one.radius + other.radius, "{seed}: {one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn the_floor_is_chequered_on_both_sides_of_the_middle() {
        let colour = |x, y| floor(DVec3::new(x, y, 0.0)).colour;
        for (x, y) in [(0.5, 0.5), (-0.5, -0.5), (1.5, -0.5), (-2.5, 7.5)] {
            assert_eq!(colour(x, y), colour(0.5, 0.5));
            assert_ne!(colour(x + 1.0, y), colour(0.5, 0.5));
            assert_ne!(colour(x, y - 1.0), colour(0.5, 0.5));
        }
    }
}
