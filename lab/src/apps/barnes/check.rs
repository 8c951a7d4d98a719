//! The bodies must be where the serial program has them, bit for bit, since all versions grow the
//! same tree; and the energy must be what it was. The tests compare the serial program's pulls with
//! direct summation: how far they may be apart follows from the cubes that were seen as one body.

use super::body::{Body, Pull};

/// By how much the energy may change, relative to its potential part: several times what the tree's
/// errors do to it.
const ENERGY_TOLERANCE: f64 = 5e-3;

/// What rounding may add to an error.
const ROUNDING: f64 = 1e-9;

/// Whether `bodies` and the `pulls` upon them, at the end of the simulation, are right: their
/// energy was `energy` at the beginning, and the serial program has them where `expected` says.
pub(super) fn all(
    bodies: &[Body],
    pulls: &[Pull],
    energy: f64,
    expected: &[Body],
) -> Result<(), String> {
    conserved(bodies, pulls, energy)?;
    match bodies.iter().zip(expected).position(|(found, expected)| found != expected) {
        _ if bodies.len() != expected.len() => Err(format!("there are {} bodies", bodies.len())),
        Some(at) => Err(format!("body {at} is {:?} and serially {:?}", bodies[at], expected[at])),
        None => Ok(()),
    }
}

/// Whether the energy is what it was.
fn conserved(bodies: &[Body], pulls: &[Pull], before: f64) -> Result<(), String> {
    let (kinetic, potential) = energies(bodies, pulls);
    let change = (kinetic + potential - before).abs();
    // A single body has none; rounding leaves it some.
    let limit = ENERGY_TOLERANCE * potential.abs() + ROUNDING;
    if is_within(change, limit) {
        Ok(())
    } else {
        Err(format!("the energy changed by {change:e} from {before:e}, more than {limit:e}"))
    }
}

/// The kinetic and the potential energy.
pub(super) fn energies(bodies: &[Body], pulls: &[Pull]) -> (f64, f64) {
    bodies.iter().zip(pulls).fold((0.0, 0.0), |(kinetic, potential), (body, pull)| {
        let squared = body.velocity.length_squared();
        // Each pair is met twice.
        (kinetic + 0.5 * body.mass * squared, potential + 0.5 * body.mass * pull.potential)
    })
}

/// Written so that NaN, which is not below anything, is not within a limit.
fn is_within(error: f64, limit: f64) -> bool {
    error <= limit
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::body::Bounds;
    use super::super::kernel::softening;
    use super::super::tree::{Node, Part, grow};
    use super::super::{Cluster, fork_join, plummer};
    use super::*;
    use crate::fork::Serial;
    use crate::random::Random;

    /// How many bodies are summed over directly.
    const SAMPLES: usize = 48;

    /// Whether the pulls upon some bodies are those of direct summation, within the error of the
    /// tree.
    fn direct(bodies: &[Body], pulls: &[Pull], seed: u64) -> Result<(), String> {
        let mut ordered = bodies.to_vec();
        let bounds = Bounds::of(bodies);
        let tree = grow(Part::whole(&mut ordered, bounds));
        let mut random = Random::new(!seed);
        for _ in 0..SAMPLES {
            let at = (random.next_u64() % bodies.len() as u64) as usize;
            let exact = summed(bodies, at);
            let limit = error(&tree, &ordered, bodies[at].position);
            let force = pulls[at].acceleration.distance(exact.acceleration);
            let potential = (pulls[at].potential - exact.potential).abs();
            if !is_within(force, limit.force) || !is_within(potential, limit.potential) {
                return Err(format!(
                    "the pull upon body {at} differs from direct summation by {force:e} (at most \
                     {:e}), its potential by {potential:e} (at most {:e})",
                    limit.force, limit.potential
                ));
            }
        }
        Ok(())
    }

    /// The pull upon a body, by direct summation.
    fn summed(bodies: &[Body], at: usize) -> Pull {
        let softening = softening(bodies.len());
        let mut pull = Pull::NONE;
        for (_, other) in bodies.iter().enumerate().filter(|&(number, _)| number != at) {
            let apart = other.position - bodies[at].position;
            let inverse = (apart.length_squared() + softening * softening).sqrt().recip();
            pull.potential -= other.mass * inverse;
            pull.acceleration += other.mass * apart * inverse.powi(3);
        }
        pull
    }

    /// How far the tree may be from direct summation.
    struct Limit {
        force: f64,
        potential: f64,
    }

    /// The error of the tree at a point, at most.
    ///
    /// To put the mass m of a cube at its centre of mass, in distance d, is to leave out all of
    /// Taylor's series but its first two terms, of which the second is zero. If B is the sum of the
    /// masses in the cube times the squares of their distances from the centre of mass, and b the
    /// largest of those, then the rest is at most half of B times the largest second derivative
    /// between d − b and d + b: that of 1/r² is 6/(d − b)⁴, that of 1/r is 2/(d − b)³. Softening
    /// makes both less.
    fn error(node: &Node, bodies: &[Body], at: DVec3) -> Limit {
        let distance = node.centre.distance_squared(at);
        let mut limit = Limit { force: ROUNDING, potential: ROUNDING };
        if distance > node.far_squared {
            let spread = |body: &Body| body.position.distance_squared(node.centre);
            let within = &bodies[node.first as usize..node.end as usize];
            let moment: f64 = within.iter().map(|body| body.mass * spread(body)).sum();
            let nearest = distance.sqrt() - within.iter().map(spread).fold(0.0, f64::max).sqrt();
            limit.force += 3.0 * moment / nearest.powi(4);
            limit.potential += moment / nearest.powi(3);
        } else {
            for below in node.eighths.iter().map(|eighth| error(eighth, bodies, at)) {
                limit.force += below.force;
                limit.potential += below.potential;
            }
        }
        limit
    }

    fn simulated(number: usize, steps: usize) -> (Cluster, f64) {
        let mut cluster = Cluster::new(plummer::sphere(number, &mut Random::new(5)));
        let energy = cluster.energy();
        fork_join::simulate(&Serial, &mut cluster, steps);
        (cluster, energy)
    }

    #[test]
    fn the_tree_is_near_to_direct_summation_and_energy_is_conserved() {
        for (number, steps) in [(1, 1), (2, 10), (20, 100), (1500, 3)] {
            let (Cluster { bodies, pulls }, energy) = simulated(number, steps);
            direct(&bodies, &pulls, 1).unwrap();
            conserved(&bodies, &pulls, energy).unwrap();
            // Not only within the worst case: the errors of many cubes cancel.
            let mut relative = 0.0;
            for at in (0..number).step_by(100) {
                let exact = summed(&bodies, at).acceleration;
                let error = pulls[at].acceleration.distance(exact);
                relative += error / exact.length().max(1e-9);
            }
            assert!(relative / (number.div_ceil(100) as f64) < 0.01, "{number}: {relative}");
        }
    }

    #[test]
    fn pulls_that_are_wrong_are_rejected() {
        let (Cluster { bodies, pulls }, energy) = simulated(600, 2);
        let wrong = |spoil: fn(&mut Pull)| {
            let mut pulls = pulls.clone();
            pulls.iter_mut().for_each(spoil);
            pulls
        };
        assert!(direct(&bodies, &wrong(|pull| pull.acceleration[1] *= 1.2), 1).is_err());
        assert!(direct(&bodies, &wrong(|pull| pull.potential *= 1.2), 1).is_err());
        assert!(direct(&bodies, &wrong(|pull| pull.acceleration[2] = f64::NAN), 1).is_err());
        assert!(direct(&bodies, &wrong(|pull| *pull = Pull::NONE), 1).is_err());
        assert!(conserved(&bodies, &wrong(|pull| pull.potential *= 1.02), energy).is_err());
        assert!(conserved(&bodies, &wrong(|pull| pull.potential = f64::NAN), energy).is_err());
    }

    #[test]
    fn bodies_that_are_wrong_are_rejected() {
        let (Cluster { bodies, pulls }, energy) = simulated(600, 2);
        assert!(all(&bodies, &pulls, energy, &bodies).is_ok());
        let mut one_bit = bodies.clone();
        one_bit[599].velocity[2] = f64::from_bits(one_bit[599].velocity[2].to_bits() ^ 1);
        assert!(all(&one_bit, &pulls, energy, &bodies).is_err());
        let mut faster = bodies.clone();
        faster.iter_mut().for_each(|body| body.velocity *= 1.02);
        assert!(conserved(&faster, &pulls, energy).is_err());
        assert!(all(&bodies[1..], &pulls[1..], energy, &bodies).is_err());
    }
}
