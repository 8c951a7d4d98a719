//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::once::{Subject, Takeover};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::record::{Cell, Document, Versions};

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`Record::FORMAT`].
    pub format: String,
    /// What was measured, where, and of what.
    #[serde(flatten)]
    pub header: Header,
    /// When the run that completed the record began (UTC).
    pub started: String,
    /// When it ended (UTC).
    pub finished: String,
    /// The measurements, in the order in which they were taken.
    pub measurements: Vec<Measurement>,
}

/// Measurements under equal headers may be put together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What was to be measured.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// What built this program.
    pub versions: Versions,
    /// The runtimes, in the order of their turns.
    pub runtimes: Vec<Runtime>,
    /// Those that were not measured.
    pub left_out: Vec<LeftOut>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: String,
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement is given up.
    pub limit_seconds: f64,
    /// The same for stuck owners.
    pub stuck_limit_seconds: f64,
    /// The numbers of workers.
    pub workers: Vec<usize>,
    /// The computations, as kind and size.
    pub inputs: Vec<Size>,
    /// The stuck owners.
    pub shapes: Vec<String>,
    /// Two sizes of fib between which instructions are counted, if they are.
    pub instructions: Option<[u32; 2]>,
}

/// A computation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// [`Subject::FIB`] or [`Subject::TREE`].
    pub app: String,
    /// Its size.
    pub size: String,
}

/// A runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A digest of its program, if that is not this one.
    pub build: Option<String>,
}

/// A runtime that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub runtime: String,
    /// Why.
    pub reason: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Of what.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// What was read.
    pub reading: Reading,
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The time of a computation.
    Seconds(f64),
    /// When the tasks of a stuck owner were done.
    Takeover(Takeover),
    /// It did not end in so many seconds.
    Never(f64),
    /// The instructions of a whole process.
    Instructions(u64),
}

/// The kind under which instructions are counted; the size is that of fib.
pub const INSTRUCTIONS: &str = "instructions";

impl Size {
    /// The computation.
    pub fn subject(&self) -> Outcome<Subject> {
        Subject::find(&self.app, &self.size)
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-forkjoin/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let Header { plan, machine, .. } = &self.header;
        if plan.workers.is_empty() || plan.workers.contains(&0) || machine.processors == 0 {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        if let Some(Fault::Input(flaw) | Fault::Run(flaw)) =
            plan.inputs.iter().find_map(|size| size.subject().err())
        {
            return Some(flaw);
        }
        let is_time = |seconds: f64| seconds.is_finite() && seconds > 0.0;
        let is_sound = |reading: &Reading| match *reading {
            Reading::Seconds(seconds) | Reading::Never(seconds) => is_time(seconds),
            Reading::Takeover(Takeover { first_ms, all_ms }) => {
                first_ms.is_finite() && all_ms.is_finite() && first_ms >= 0.0 && all_ms >= 0.0
            }
            Reading::Instructions(_) => true,
        };
        let all_are_sound = self.measurements.iter().all(|found| is_sound(&found.reading));
        (!all_are_sound).then(|| "it has a time that is none".to_owned())
    }
}
