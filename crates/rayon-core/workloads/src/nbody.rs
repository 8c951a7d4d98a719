//! All pairs of bodies that attract each other: a parallel iterator, with the same work for each
//! item.

use rayon::prelude::*;

use crate::random::Random;
use crate::workload::{Computation, Instance, Workload, checked};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "nbody",
    about: "the attraction of all pairs of bodies, ten times",
    size: 1200,
    most: 100_000,
    prepare,
};

const STEPS: usize = 10;
const STEP: f64 = 1e-3;
/// Bodies are no points, so that none comes too close to another.
const SOFTENING: f64 = 1e-2;

#[derive(Clone, Copy, PartialEq)]
struct Body {
    place: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

struct Bodies {
    first: Vec<Body>,
    bodies: Vec<Body>,
    steps: usize,
}

fn momentum(bodies: &[Body]) -> [f64; 3] {
    [0, 1, 2].map(|axis| bodies.iter().map(|body| body.mass * body.speed[axis]).sum())
}

fn prepare(size: usize, seed: u64) -> Box<dyn Instance> {
    let mut random = Random::new(seed);
    let mut three = || [random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5];
    let bodies: Vec<Body> = (0..size)
        .map(|n| Body { place: three(), speed: three(), mass: 1.0 + (n % 7) as f64 })
        .collect();
    checked(Bodies { first: bodies.clone(), bodies, steps: 0 })
}

fn after_a_step(body: &Body, all: &[Body]) -> Body {
    let mut pull = [0.0; 3];
    for other in all {
        let apart = [0, 1, 2].map(|axis| other.place[axis] - body.place[axis]);
        let square = apart.iter().map(|d| d * d).sum::<f64>() + SOFTENING * SOFTENING;
        let strength = other.mass / (square * square.sqrt());
        for (pull, apart) in pull.iter_mut().zip(apart) {
            *pull += strength * apart;
        }
    }
    let speed = [0, 1, 2].map(|axis| body.speed[axis] + STEP * pull[axis]);
    let place = [0, 1, 2].map(|axis| body.place[axis] + STEP * speed[axis]);
    Body { place, speed, ..*body }
}

impl Computation for Bodies {
    type Answer = Vec<Body>;

    fn reset(&mut self) {
        self.bodies.copy_from_slice(&self.first);
        self.steps = 0;
    }

    fn run(&mut self) {
        for _ in 0..STEPS {
            let all = &self.bodies;
            self.bodies = all.par_iter().map(|body| after_a_step(body, all)).collect();
            self.steps += 1;
        }
    }

    fn answer(&self) -> &Vec<Body> {
        &self.bodies
    }

    /// What each pulls, the other is pulled by: the momentum stays as it was, but for rounding. And
    /// each body has moved as often as it should.
    fn is_correct(&self) -> bool {
        let total: f64 = self.bodies.iter().map(|body| body.mass).sum();
        // A sum of so many pulls, each of at most so much, rounded once each.
        let most_pull = total * total / (SOFTENING * SOFTENING);
        let rounding = f64::EPSILON * most_pull * STEP * STEPS as f64 * 8.0;
        let drift = momentum(&self.bodies)
            .iter()
            .zip(momentum(&self.first))
            .map(|(now, then)| (now - then).abs())
            .fold(0.0, f64::max);
        self.steps == STEPS && drift <= rounding.max(1e-9)
    }
}
