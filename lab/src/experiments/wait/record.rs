//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::Header;
use super::once::{Kind, Subject};
use crate::experiments::reading::Reading;
use crate::experiments::series;
use crate::fault::{Fault, Outcome};
use crate::record::{Cell, Document};

/// The record of a run.
pub type Record = series::Record<Plan, Measurement>;

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

/// One measurement; `app` is the kind.
pub type Measurement = series::Measurement<Reading>;

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

/// Whether this is something that can be read of its kind.
fn is_sound(found: &Measurement) -> bool {
    let subject = Subject::find(&found.cell.app, &found.cell.size);
    subject.is_ok_and(|subject| found.reading.is_sound(subject.kind == Kind::Waiting))
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
        let all_are_sound = self.measurements.iter().all(is_sound);
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}
