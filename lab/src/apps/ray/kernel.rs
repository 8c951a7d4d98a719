//! What a ray meets: a ball, or the floor.

use glam::DVec3;

use super::balls;
use super::hierarchy::Hierarchy;
use crate::apps::rendering::{End, Lamp, Ray, Scene, UP};

/// Rays begin this far from the surface that they leave, which they might meet again otherwise.
const CLEARANCE: f64 = 1e-6;

impl Scene for Hierarchy {
    const EYE: [DVec3; 2] = [balls::EYE, DVec3::ZERO];
    const ANGLE: f64 = 45.0;
    const LAMPS: &'static [Lamp] = &balls::LAMPS;

    fn end(&self, ray: Ray) -> Option<End<'_>> {
        let floor = floor(ray);
        let at = |distance: f64| ray.origin + ray.direction * distance;
        if let Some(met) = self.first(ray, CLEARANCE, floor.unwrap_or(f64::INFINITY)) {
            let point = at(met.distance);
            let normal = (point - self.sphere(met.sphere).centre).normalize();
            return Some(End { point, normal, surface: &balls::BALLS });
        }
        floor.map(|distance| End {
            point: at(distance),
            normal: if ray.direction.dot(UP) < 0.0 { UP } else { -UP },
            surface: &balls::FLOOR,
        })
    }

    fn is_shadowed(&self, ray: Ray, distance: f64) -> bool {
        floor(ray).is_some_and(|floor| floor < distance) || self.any(ray, CLEARANCE, distance)
    }

    fn background(_direction: DVec3) -> DVec3 {
        balls::BACKGROUND
    }
}

/// How far away the floor is, where `ray` meets it.
fn floor(ray: Ray) -> Option<f64> {
    let distance = (balls::FLOOR_HEIGHT - ray.origin.z) / ray.direction.z;
    // A ray along the floor gives infinity, or NaN within it.
    let is_ahead = distance > CLEARANCE && distance.is_finite();
    let point = ray.origin + ray.direction * distance;
    let is_on_it = point.x.abs().max(point.y.abs()) <= balls::FLOOR_REACH;
    (is_ahead && is_on_it).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::rendering::trace;

    /// One sphere, seen and lit as it can be computed by hand.
    #[test]
    fn light_is_what_phong_says() {
        let spheres = Hierarchy::new(balls::spheres(0));
        let to_eye = balls::EYE.normalize();
        let ray = Ray { origin: balls::EYE, direction: -to_eye };
        // The eye looks at the nearest point of the sphere, so what is mirrored there is what lies
        // behind the eye: nothing.
        let (point, normal) = (to_eye * 0.5, to_eye);
        let mut expected = balls::BALLS.colour * balls::BACKGROUND * 0.5;
        for lamp in balls::LAMPS {
            let direction = (lamp.place - point).normalize();
            let facing = direction.dot(normal);
            if facing > 0.0 {
                let (diffuse, highlight) = (0.5 * facing, 0.5 * facing.powi(3));
                let both = balls::BALLS.colour * diffuse + DVec3::splat(highlight);
                expected += both * 3f64.sqrt().recip();
            }
        }
        assert!((trace(&spheres, ray, 5) - expected).length() < 1e-9);
    }

    #[test]
    fn the_floor_is_a_square_below_and_spheres_throw_shadows_on_it() {
        let down = |x: f64| Ray { origin: DVec3::new(x, 0.0, 4.0), direction: -UP };
        assert_eq!(floor(down(11.0)), Some(4.5));
        assert_eq!(floor(down(13.0)), None);
        assert_eq!(floor(Ray { direction: UP, ..down(0.0) }), None);
        let spheres = Hierarchy::new(balls::spheres(0));
        let up = |x: f64| Ray { origin: DVec3::new(x, 0.0, -0.5), direction: UP };
        assert!(spheres.is_shadowed(up(0.3), 5.0) && !spheres.is_shadowed(up(0.6), 5.0));
    }
}
