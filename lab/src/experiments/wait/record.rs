//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::Header;
use super::once::{Kind, Subject};
use crate::experiments::cells::OfCell;
use crate::experiments::missing::Missing;
use crate::fault::{Fault, Outcome};
use crate::record::{Cell, Document};

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
    /// Those that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: String,
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What the tasks' values follow from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// What is measured of each runtime.
    pub inputs: Vec<Input>,
    /// The runtimes, in the order of their turns.
    pub runtimes: Vec<Runtime>,
}

/// What is measured of each runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The kind, by name.
    pub kind: String,
    /// How much of it: see [`Subject::find`].
    pub size: String,
    /// The number of workers.
    pub workers: usize,
}

/// A runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Of what: `app` is the kind.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// What was read.
    pub reading: Reading,
}

/// What was read. Every answer has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The time of all tasks, round trips or threads.
    Time {
        /// The time.
        seconds: f64,
        /// Of a ping-pong: in which share of the rounds the players were on different threads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart: Option<f64>,
    },
    /// The memory of all waiting tasks.
    Memory {
        /// By how much resident memory has grown, in bytes.
        bytes: u64,
        /// The size of a task's own future, in bytes.
        future: u64,
    },
}

impl Input {
    /// What it names.
    pub fn subject(&self) -> Outcome<Subject> {
        Subject::find(&self.kind, &self.size)
    }

    /// It, on a runtime.
    pub fn on(&self, runtime: &str) -> Cell {
        Cell {
            app: self.kind.clone(),
            size: self.size.clone(),
            runtime: runtime.to_owned(),
            workers: self.workers,
        }
    }
}

impl Measurement {
    /// Whether this is something that can be read of its kind.
    fn is_sound(&self) -> bool {
        let Ok(subject) = Subject::find(&self.cell.app, &self.cell.size) else { return false };
        match self.reading {
            Reading::Time { seconds, apart } => {
                subject.kind != Kind::Waiting
                    && seconds.is_finite()
                    && seconds > 0.0
                    && apart.is_none_or(|share| (0.0..=1.0).contains(&share))
            }
            Reading::Memory { .. } => subject.kind == Kind::Waiting,
        }
    }
}

impl OfCell for Measurement {
    fn cell(&self) -> &Cell {
        &self.cell
    }

    fn repeat(&self) -> usize {
        self.repeat
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-wait/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let Header { plan, machine, .. } = &self.header;
        if machine.processors == 0 || plan.inputs.iter().any(|input| input.workers == 0) {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        if let Some(Fault::Input(flaw) | Fault::Run(flaw)) =
            plan.inputs.iter().find_map(|input| input.subject().err())
        {
            return Some(flaw);
        }
        let all_are_sound = self.measurements.iter().all(Measurement::is_sound);
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}
