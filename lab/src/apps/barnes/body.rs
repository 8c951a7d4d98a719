//! Bodies, what pulls at them, and how they move.

use glam::DVec3;

/// The time of a step.
const STEP: f64 = 0.025;

/// Bodies of a leaf where the parallel versions move them: some microseconds.
pub(super) const MOVE_LEAF: usize = 1024;

/// A body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Body {
    pub(super) position: DVec3,
    pub(super) mass: f64,
    pub(super) velocity: DVec3,
    /// How many attractions were computed for it last: static partitioning balances by that.
    pub(super) cost: u64,
}

/// What all others together do to a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pull {
    pub(super) acceleration: DVec3,
    pub(super) potential: f64,
    /// How many attractions were computed for that.
    pub(super) cost: u64,
}

impl Pull {
    pub(super) const NONE: Pull = Pull { acceleration: DVec3::ZERO, potential: 0.0, cost: 0 };
}

/// The smallest box around bodies, its sides along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) low: DVec3,
    pub(super) high: DVec3,
}

impl Bounds {
    /// Around nothing.
    const EMPTY: Bounds = Bounds { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    pub(super) fn of(bodies: &[Body]) -> Bounds {
        bodies.iter().fold(Bounds::EMPTY, |bounds, body| {
            bounds.union(Bounds { low: body.position, high: body.position })
        })
    }

    /// Around both. Minimum and maximum are exact, so the order in which boxes are united does not
    /// matter.
    pub(super) fn union(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// By how much time velocities and then positions advance after the pulls have been computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Advance {
    kick: f64,
    drift: f64,
}

/// The leapfrog: `steps` steps, for which pulls are computed once more often. Velocities run half a
/// step ahead of positions meanwhile, and are level with them at the end, where the pulls are those
/// at the final positions.
pub(super) fn leapfrog(steps: usize) -> impl Iterator<Item = Advance> {
    (0..=steps).map(move |step| Advance {
        kick: if step == 0 || step == steps { STEP / 2.0 } else { STEP },
        drift: if step == steps { 0.0 } else { STEP },
    })
}

/// Moves the bodies as the pulls upon them demand, and returns the bounds that they then have.
#[inline(never)]
pub(super) fn advance(bodies: &mut [Body], pulls: &[Pull], by: Advance) -> Bounds {
    for (body, pull) in bodies.iter_mut().zip(pulls) {
        body.velocity += pull.acceleration * by.kick;
        body.position += body.velocity * by.drift;
        body.cost = pull.cost;
    }
    Bounds::of(bodies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn velocities_and_positions_advance_by_the_same_time() {
        for steps in [1, 2, 10] {
            let (kicks, drifts): (f64, f64) = leapfrog(steps)
                .fold((0.0, 0.0), |(kicks, drifts), by| (kicks + by.kick, drifts + by.drift));
            assert!((kicks - drifts).abs() < 1e-12);
            assert!((kicks - steps as f64 * STEP).abs() < 1e-12);
            assert_eq!(leapfrog(steps).count(), steps + 1);
        }
    }
}
