//! A Plummer sphere: the standard model of a star cluster, dense in the middle. Drawn as by
//! Aarseth, Hénon and Wielen ("A comparison of numerical methods for the study of star cluster
//! dynamics", Astronomy and Astrophysics 37, 1974), in units in which the whole mass and the
//! constant of gravitation are 1 and the energy is −1/4.

use std::f64::consts::{PI, TAU};

use glam::DVec3;

use super::body::Body;
use crate::random::Random;

/// The outermost thousandth of the mass is left out: some of it would be very far away.
const MASS_WITHIN: f64 = 0.999;

/// A sphere of that many bodies of equal mass, at rest as a whole.
pub(super) fn sphere(number: usize, random: &mut Random) -> Vec<Body> {
    let length = 3.0 * PI / 16.0;
    let mut bodies: Vec<Body> = (0..number)
        .map(|_| {
            let within = MASS_WITHIN * unit(random);
            // The mass within r is r³/(1 + r²)^(3/2) of the whole.
            let radius = (within.max(1e-9).powf(-2.0 / 3.0) - 1.0).sqrt().recip();
            let escape = 2f64.sqrt() * (1.0 + radius * radius).powf(-0.25);
            let position = direction(random) * radius * length;
            let speed = escape * share_of_escape(random) / length.sqrt();
            let velocity = direction(random) * speed;
            Body { position, mass: 1.0 / number as f64, velocity, cost: 1 }
        })
        .collect();
    let centre: DVec3 = bodies.iter().map(|body| body.mass * body.position).sum();
    let drift: DVec3 = bodies.iter().map(|body| body.mass * body.velocity).sum();
    for body in &mut bodies {
        body.position -= centre;
        body.velocity -= drift;
    }
    bodies
}

/// A speed as a share q of the speed of escape: its density is proportional to q²(1 − q²)^(7/2),
/// which is below 0.1.
fn share_of_escape(random: &mut Random) -> f64 {
    loop {
        let (share, density) = (unit(random), 0.1 * unit(random));
        if density < share * share * (1.0 - share * share).powf(3.5) {
            return share;
        }
    }
}

/// A direction, none likelier than another.
fn direction(random: &mut Random) -> DVec3 {
    let height = random.next_signed();
    let (sine, cosine) = (TAU * unit(random)).sin_cos();
    let reach = (1.0 - height * height).sqrt();
    DVec3::new(reach * cosine, reach * sine, height)
}

/// A number in `0.0..1.0`.
fn unit(random: &mut Random) -> f64 {
    (random.next_signed() + 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_mass_and_the_kinetic_energy_are_where_the_model_has_them() {
        let bodies = sphere(20_000, &mut Random::new(6));
        // Half of the mass lies within 1.305 times Plummer's length.
        let radius = 1.305 * 3.0 * PI / 16.0;
        let within =
            bodies.iter().filter(|body| body.position.length_squared() < radius * radius).count();
        assert!((9_700..10_300).contains(&within), "{within}");
        let energy = |body: &Body| 0.5 * body.mass * body.velocity.length_squared();
        let kinetic: f64 = bodies.iter().map(energy).sum();
        assert!((kinetic - 0.25).abs() < 0.01, "{kinetic}");
        let momentum: f64 = bodies.iter().map(|body| body.mass * body.velocity[0]).sum();
        assert!(momentum.abs() < 1e-12);
    }
}
