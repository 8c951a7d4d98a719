//! What a ray meets: a ball, or the floor.

use glam::DVec3;

use super::scene::{self, Balls};
use crate::apps::rendering::{End, Lamp, Ray, Scene, UP};

/// Rays begin this far from the surface that they leave, which they might meet again otherwise.
const CLEARANCE: f64 = 1e-9;

/// Where the four rays pass through a pixel of side one, from its middle: no two in the same row or
/// column of a grid of four by four, so that edges that are nearly level or upright are smoothed as
/// well.
const PLACES: [[f64; 2]; 4] = [[-0.125, -0.375], [0.375, -0.125], [0.125, 0.375], [-0.375, 0.125]];

impl Scene for Balls {
    const EYE: [DVec3; 2] = [scene::EYE, scene::LOOKS_AT];
    const ANGLE: f64 = 40.0;
    const LAMPS: &'static [Lamp] = &scene::LAMPS;
    const AMBIENT: f64 = 0.12;
    const PLACES: &'static [[f64; 2]] = &PLACES;

    fn end(&self, ray: Ray) -> Option<End<'_>> {
        let mut nearest = floor(ray).unwrap_or(f64::INFINITY);
        let mut met = None;
        for ball in &self.0 {
            if let Some(distance) = entry(ray, ball.centre, ball.radius)
                && distance < nearest
            {
                (nearest, met) = (distance, Some(ball));
            }
        }
        let point = ray.origin + ray.direction * nearest;
        let (normal, surface) = match met {
            Some(ball) => ((point - ball.centre).normalize(), &ball.surface),
            None if nearest.is_finite() => (UP, scene::floor(point)),
            None => return None,
        };
        Some(End { point, normal, surface })
    }

    /// Lamps and all that they light are above the floor.
    fn is_shadowed(&self, ray: Ray, distance: f64) -> bool {
        let mut entries = self.0.iter().filter_map(|it| entry(ray, it.centre, it.radius));
        entries.any(|entry| entry < distance)
    }

    fn background(direction: DVec3) -> DVec3 {
        scene::sky(direction)
    }
}

/// How far away `ray` enters a ball, where it does. No ray starts inside of one.
#[inline]
fn entry(ray: Ray, centre: DVec3, radius: f64) -> Option<f64> {
    let to_centre = centre - ray.origin;
    let along = to_centre.dot(ray.direction);
    let root = along * along - to_centre.dot(to_centre) + radius * radius;
    if root < 0.0 {
        return None;
    }
    let distance = along - root.sqrt();
    (distance > CLEARANCE).then_some(distance)
}

/// How far away the floor is, where `ray` meets it from above.
fn floor(ray: Ray) -> Option<f64> {
    let distance = -ray.origin.z / ray.direction.z;
    // A ray along the floor gives infinity, or NaN within it.
    (distance > CLEARANCE && distance.is_finite()).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::rendering::{Seen, Surface, trace};
    use crate::random::Random;

    const DOWN: DVec3 = DVec3::NEG_Z;

    fn ball(mirror: f64) -> scene::Ball {
        let colour = DVec3::new(1.0, 0.5, 0.25);
        let surface = Surface { colour, diffuse: 0.5, highlight: 0.25, shine: 2, mirror };
        scene::Ball { centre: DVec3::new(0.0, 0.0, 1.0), radius: 1.0, surface }
    }

    #[test]
    fn rays_enter_balls_and_end_on_the_floor() {
        let centre = DVec3::new(0.0, 0.0, 5.0);
        let from = |x: f64| Ray { origin: DVec3::new(x, 0.0, 9.0), direction: DOWN };
        assert_eq!(entry(from(0.0), centre, 3.0), Some(1.0));
        assert_eq!(entry(from(3.0), centre, 3.0), Some(4.0));
        assert_eq!(entry(from(3.1), centre, 3.0), None);
        assert_eq!(entry(Ray { direction: UP, ..from(0.0) }, centre, 3.0), None);
        assert_eq!(floor(from(0.0)), Some(9.0));
        assert_eq!(floor(Ray { direction: UP, ..from(0.0) }), None);
        assert_eq!(floor(Ray { direction: DVec3::X, ..from(0.0) }), None);
    }

    /// One ball, seen from above and lit as it can be computed by hand.
    #[test]
    fn light_is_what_phong_says() {
        let from_above = Ray { origin: DVec3::new(0.0, 0.0, 6.0), direction: DOWN };
        for mirror in [0.0, 0.5] {
            let scene = Balls(vec![ball(mirror)]);
            let (point, colour) = (DVec3::new(0.0, 0.0, 2.0), scene.0[0].surface.colour);
            // What is mirrored is what lies straight above: the sky.
            let mut expected = colour * Balls::AMBIENT + colour * scene::sky(UP) * mirror;
            for lamp in Balls::LAMPS {
                let cosine = (lamp.place - point).normalize().z;
                let diffuse = colour * (0.5 * cosine * lamp.brightness);
                let highlight = 0.25 * cosine * cosine * lamp.brightness;
                expected += diffuse + DVec3::splat(highlight);
            }
            assert!((trace(&scene, from_above, 5) - expected).length() < 1e-9);
        }
    }

    #[test]
    fn balls_throw_shadows_on_the_floor() {
        let ball = scene::Ball { centre: DVec3::new(0.0, 0.0, 3.0), ..ball(0.0) };
        let scene = Balls(vec![ball]);
        let up = |x: f64| Ray { origin: DVec3::new(x, 0.0, 0.0), direction: UP };
        assert!(scene.is_shadowed(up(0.9), 8.0) && !scene.is_shadowed(up(1.1), 8.0));
        assert!(!scene.is_shadowed(up(0.0), 1.5));
    }

    #[test]
    fn a_pixel_is_the_mean_of_four_rays_around_its_middle() {
        let view = Seen::new(Balls::random(&mut Random::new(3)), [40, 30]);
        let middle = (0..2).map(|axis| PLACES.iter().map(|place| place[axis]).sum::<f64>());
        assert_eq!(middle.collect::<Vec<_>>(), [0.0, 0.0]);
        for number in [0, 17 * 40 + 3, 20 * 40 + 20] {
            for (colour, light) in view.pixel(number).into_iter().enumerate() {
                let lights = PLACES
                    .map(|place| trace(&view.scene, view.camera.ray(number, place), 5)[colour]);
                let mean = lights.iter().sum::<f64>() / 4.0;
                assert!((light - mean).abs() < 1e-12);
            }
        }
        let ahead = (scene::LOOKS_AT - scene::EYE).normalize();
        let centre = view.camera.ray(14 * 40 + 19, [0.5, 0.5]).direction;
        assert!((centre - ahead).length() < 1e-12);
    }
}
