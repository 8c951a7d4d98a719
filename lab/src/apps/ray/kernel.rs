//! The colour of a pixel: one ray from the eye, and from where it meets something, one to each
//! light and one for what is mirrored there, recursively.

use super::balls::{self, Surface};
use super::hierarchy::Hierarchy;
use crate::apps::rendering::{Camera, Pixel, Ray, UP, View};
use crate::apps::vector::Vector;

/// How often light is mirrored before it is too faint to be followed.
const MOST_MIRRORS: usize = 5;

/// Rays begin this far from the surface that they leave, which they might meet again otherwise.
const CLEARANCE: f64 = 1e-6;

/// Where a ray ends.
struct End {
    point: Vector,
    normal: Vector,
    surface: &'static Surface,
}

/// The balls, and the eye.
pub(super) struct Seen {
    spheres: Hierarchy,
    camera: Camera,
}

impl Seen {
    /// The balls of that depth in a picture of these sides.
    pub(super) fn new(depth: usize, sides: [usize; 2]) -> Seen {
        let camera = Camera::new([balls::EYE, balls::LOOKS_AT], balls::ANGLE, sides);
        Seen { spheres: Hierarchy::new(balls::spheres(depth)), camera }
    }
}

impl View for Seen {
    #[inline(never)]
    fn render(&self, first: usize, pixels: &mut [Pixel]) {
        for (number, pixel) in (first..).zip(pixels) {
            *pixel = trace(&self.spheres, self.camera.ray(number, [0.0; 2]), MOST_MIRRORS).0;
        }
    }
}

/// The light that comes to the origin of `ray`, by Phong's model.
fn trace(spheres: &Hierarchy, ray: Ray, mirrors: usize) -> Vector {
    let Some(End { point, normal, surface }) = end(spheres, ray) else {
        return balls::BACKGROUND;
    };
    let mirrored = ray.direction.mirrored(normal);
    // As usual with these scenes: n lights have a brightness of 1/√n each.
    let brightness = (balls::LIGHTS.len() as f64).sqrt().recip();
    let mut light = Vector::ZERO;
    for lamp in balls::LIGHTS {
        let to_lamp = lamp - point;
        let distance = to_lamp.length();
        let direction = to_lamp * distance.recip();
        let facing = direction.dot(normal);
        if facing <= 0.0 || is_shadowed(spheres, Ray { origin: point, direction }, distance) {
            continue;
        }
        light = light + surface.colour * (surface.diffuse * facing * brightness);
        let highlight = mirrored.dot(direction);
        if surface.specular > 0.0 && highlight > 0.0 {
            let strength = surface.specular * highlight.powf(surface.shine) * brightness;
            light = light + Vector([strength; 3]);
        }
    }
    if surface.specular > 0.0 && mirrors > 0 {
        let seen = trace(spheres, Ray { origin: point, direction: mirrored }, mirrors - 1);
        light = light + surface.colour.scaled(seen) * surface.specular;
    }
    light
}

/// What `ray` meets first: a sphere, or the floor.
fn end(spheres: &Hierarchy, ray: Ray) -> Option<End> {
    let floor = floor(ray);
    let at = |distance: f64| ray.origin + ray.direction * distance;
    if let Some(met) = spheres.first(ray, CLEARANCE, floor.unwrap_or(f64::INFINITY)) {
        let point = at(met.distance);
        let normal = (point - spheres.sphere(met.sphere).centre).unit();
        return Some(End { point, normal, surface: &balls::BALLS });
    }
    floor.map(|distance| End {
        point: at(distance),
        normal: if ray.direction.dot(UP) < 0.0 { UP } else { -UP },
        surface: &balls::FLOOR,
    })
}

/// How far away the floor is, where `ray` meets it.
fn floor(ray: Ray) -> Option<f64> {
    let distance = (balls::FLOOR_HEIGHT - ray.origin.0[2]) / ray.direction.0[2];
    // A ray along the floor gives infinity, or NaN within it.
    let is_ahead = distance > CLEARANCE && distance.is_finite();
    let point = ray.origin + ray.direction * distance;
    let is_on_it = point.0[..2].iter().all(|number| number.abs() <= balls::FLOOR_REACH);
    (is_ahead && is_on_it).then_some(distance)
}

/// Whether something is in the way of `ray` up to that distance.
fn is_shadowed(spheres: &Hierarchy, ray: Ray, distance: f64) -> bool {
    floor(ray).is_some_and(|floor| floor < distance) || spheres.any(ray, CLEARANCE, distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sphere, seen and lit as it can be computed by hand.
    #[test]
    fn light_is_what_phong_says() {
        let spheres = Hierarchy::new(balls::spheres(0));
        let to_eye = balls::EYE.unit();
        let ray = Ray { origin: balls::EYE, direction: -to_eye };
        // The eye looks at the nearest point of the sphere, so what is mirrored there is what lies
        // behind the eye: nothing.
        let (point, normal) = (to_eye * 0.5, to_eye);
        let mut expected = balls::BALLS.colour.scaled(balls::BACKGROUND) * 0.5;
        for lamp in balls::LIGHTS {
            let direction = (lamp - point).unit();
            let facing = direction.dot(normal);
            if facing > 0.0 {
                let (diffuse, highlight) = (0.5 * facing, 0.5 * facing.powi(3));
                let both = balls::BALLS.colour * diffuse + Vector([highlight; 3]);
                expected = expected + both * 3f64.sqrt().recip();
            }
        }
        assert!((trace(&spheres, ray, 5) - expected).length() < 1e-9);
    }

    #[test]
    fn the_floor_is_a_square_below_and_spheres_throw_shadows_on_it() {
        let down = |x: f64| Ray { origin: Vector([x, 0.0, 4.0]), direction: -UP };
        assert_eq!(floor(down(11.0)), Some(4.5));
        assert_eq!(floor(down(13.0)), None);
        assert_eq!(floor(Ray { direction: UP, ..down(0.0) }), None);
        let spheres = Hierarchy::new(balls::spheres(0));
        let up = |x: f64| Ray { origin: Vector([x, 0.0, -0.5]), direction: UP };
        assert!(is_shadowed(&spheres, up(0.3), 5.0) && !is_shadowed(&spheres, up(0.6), 5.0));
    }
}
