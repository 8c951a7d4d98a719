//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::sleeper::Naps;
use crate::machine::Machine;
use crate::record::{Document, Versions};
use crate::rounds::Round;

/// The format of a record.
pub const FORMAT: &str = "locksley-neighbour/1";

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: String,
    /// What was to be measured.
    pub plan: Plan,
    /// The machine that it was measured on.
    pub machine: Machine,
    /// What was measured.
    pub versions: Versions,
    /// When the run that completed the record began (UTC).
    pub started: String,
    /// When it ended (UTC).
    pub finished: String,
    /// The measurements, in the order in which they were taken.
    pub samples: Vec<Sample>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What the deadlines follow from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// How long the sleeper sleeps and wakes in one measurement.
    pub seconds: f64,
    /// How it does.
    pub naps: Naps,
    /// The numbers of workers beside it.
    pub workers: Vec<usize>,
    /// The runtimes beside it, in the order of their turns.
    pub runtimes: Vec<String>,
    /// What they compute.
    pub shapes: Vec<Shape>,
}

/// A computation beside the sleeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// What it is there to show.
    pub shows: String,
    /// What is repeated.
    pub round: Round,
}

/// What runs beside the sleeper.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Beside {
    /// The runtime.
    pub runtime: String,
    /// The shape of its computation, by name.
    pub shape: String,
    /// The number of its workers.
    pub workers: usize,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What ran beside the sleeper; nothing, where it was alone.
    pub beside: Option<Beside>,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// How late it woke.
    pub late: Histogram,
    /// How long its work took.
    pub work: Histogram,
    /// What the other computed meanwhile, in rounds a second.
    pub rounds_per_second: Option<f64>,
    /// Where the sleeper was alone: the processors that others used all the same, if the system tells.
    pub disturbance: Option<f64>,
}

impl Document for Record {
    const FORMAT: &'static str = FORMAT;

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        if self.plan.workers.contains(&0) || self.machine.processors == 0 {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        let empty = self.samples.iter().any(|sample| sample.late.number() == 0);
        empty.then(|| "it has a measurement without a wake-up".to_owned())
    }
}
