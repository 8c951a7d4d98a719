//! `barnes(n,steps)`: n bodies that attract one another, by the algorithm of Barnes and Hut. They
//! begin as a Plummer sphere. In each step a tree is grown over them, in which far groups of bodies
//! are seen as one; the pulls upon all bodies are computed from it; and the bodies are moved. Each
//! phase is parallel and waits for the one before.

mod body;
mod check;
mod fork_join;
mod kernel;
mod plummer;
mod static_partition;
mod tree;

use crate::apps::prelude::*;
use body::{Body, Bounds, Pull};
use tree::Part;

/// The application.
pub static APP: App = App {
    name: "barnes",
    about: "BODIES that attract one another, moved by STEPS of time with the Barnes-Hut algorithm",
    syntax: "BODIESxSTEPS",
    paper_size: "16384x10",
    quick_size: "4096x3",
    has_static: true,
    problem: |parameters| {
        let [number, steps] = size::numbers(parameters, 'x', 1)?;
        if u32::try_from(number).is_err() {
            return Err(format!("there can be at most {} bodies", u32::MAX));
        }
        // The bodies before, during and after, the pulls, and the tree, which has about as many
        // nodes as there are bodies.
        let bytes = size::product(&[5, number, size_of::<Body>()]);
        Ok(Problem::new(bytes, move |seed| Simulating::new(number, steps, seed)))
    },
    ..App::BLANK
};

/// The bodies, and the pull upon each.
#[derive(Clone)]
struct Cluster {
    bodies: Vec<Body>,
    pulls: Vec<Pull>,
}

impl Cluster {
    fn new(bodies: Vec<Body>) -> Cluster {
        let pulls = vec![Pull::NONE; bodies.len()];
        Cluster { bodies, pulls }
    }

    /// The energy. The bodies are put in another order.
    fn energy(&mut self) -> f64 {
        let bounds = Bounds::of(&self.bodies);
        let tree = tree::grow(Part::whole(&mut self.bodies, bounds));
        kernel::pull(&tree, &self.bodies, 0, &mut self.pulls);
        let (kinetic, potential) = check::energies(&self.bodies, &self.pulls);
        kinetic + potential
    }
}

#[derive(Clone)]
struct Simulating {
    steps: usize,
    input: Arc<[Body]>,
    cluster: Cluster,
    energy: f64,
    expected: Arc<[Body]>,
}

impl Simulating {
    fn new(number: usize, steps: usize, seed: u64) -> Simulating {
        let input = plummer::sphere(number, &mut Random::new(seed));
        let mut cluster = Cluster::new(input.clone());
        let energy = cluster.energy();
        cluster.bodies.copy_from_slice(&input);
        fork_join::simulate(&Serial, &mut cluster, steps);
        let expected = std::mem::replace(&mut cluster.bodies, input.clone());
        let (input, expected) = (input.into(), expected.into());
        Simulating { steps, input, cluster, energy, expected }
    }
}

impl Instance for Simulating {
    fn reset(&mut self) {
        self.cluster.bodies.copy_from_slice(&self.input);
        self.cluster.pulls.fill(Pull::NONE);
    }

    fork_join!(self, fork => fork_join::simulate(fork, &mut self.cluster, self.steps));

    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        Some(static_partition::simulate(team, &mut self.cluster, self.steps))
    }

    fn check(&self) -> Result<(), String> {
        let Cluster { bodies, pulls } = &self.cluster;
        check::all(bodies, pulls, self.energy, &self.expected)
    }
}
