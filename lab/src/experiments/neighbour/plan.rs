//! What is measured: beside whom, how often, and for how long at most.

use super::record::{Beside, Plan, Shape};
use super::sleeper::Naps;
use crate::fault::Outcome;
use crate::rounds::Round;
use crate::runtimes;

/// The runtimes in the order in which they take their turns.
const RUNTIMES: [&str; 4] = ["locksley", "rayon", "locksley-awake", "static"];

/// A deadline every 5 ms or so; the work takes about 0.1 ms.
const NAPS: Naps = Naps { period: 5000, jitter: 1000, steps: 70_000 };

/// What the command line may change.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The quick subset.
    pub quick: bool,
    /// What the deadlines follow from.
    pub seed: u64,
    /// Only these runtimes; all where none is named.
    pub runtimes: Vec<String>,
    /// How long one measurement takes, in seconds.
    pub seconds: Option<f64>,
}

/// The plan for a machine with `processors`.
pub fn plan(wishes: &Wishes, processors: usize) -> Outcome<Plan> {
    for name in &wishes.runtimes {
        runtimes::find(name)?;
    }
    let quick = wishes.quick;
    let default: Vec<String> = RUNTIMES.map(str::to_owned).to_vec();
    Ok(Plan {
        quick,
        seed: wishes.seed,
        repeats: if quick { 2 } else { 6 },
        budget_seconds: if quick { 52.0 } else { 3300.0 },
        seconds: wishes.seconds.unwrap_or(if quick { 1.0 } else { 10.0 }),
        naps: NAPS,
        workers: vec![processors, (4 * processors).min(runtimes::MOST_WORKERS)],
        runtimes: if wishes.runtimes.is_empty() { default } else { wishes.runtimes.clone() },
        shapes: shapes(processors as u64).into_iter().take(if quick { 2 } else { 3 }).collect(),
    })
}

/// Leaves of some microseconds, more or less of them at a time.
fn shapes(processors: u64) -> [Shape; 3] {
    let shape = |name: &str, shows: &str, chunks, serial| Shape {
        name: name.to_owned(),
        shows: shows.to_owned(),
        round: Round { leaf: 5000, chunks, serial },
    };
    [
        shape("plenty", "work for all workers, nearly all the time", 256 * processors, 0),
        shape("little", "half of the time, work for one only", 16 * processors, 16),
        shape("no", "work for one worker, and nothing for the others to find", 0, 64),
    ]
}

impl Plan {
    /// What is beside the sleeper in each rotation, in order: first nothing; then the runtimes take turns.
    pub fn cells(&self) -> Vec<Option<Beside>> {
        let mut cells = vec![None];
        for shape in &self.shapes {
            for &workers in &self.workers {
                cells.extend(self.runtimes.iter().map(|runtime| {
                    let (runtime, shape) = (runtime.clone(), shape.name.clone());
                    Some(Beside { runtime, shape, workers })
                }));
            }
        }
        cells
    }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let shapes: Vec<&str> = plan.shapes.iter().map(|shape| shape.name.as_str()).collect();
    format!(
        "Quick subset: {} parallelism only; {} s for each measurement; {} rotations, if {} s suffice",
        shapes.join(" and "),
        plan.seconds,
        plan.repeats,
        plan.budget_seconds
    )
}
