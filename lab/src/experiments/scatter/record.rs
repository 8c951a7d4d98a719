//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::Header;
use super::once::{Finding, Subject};
use super::plan::Experiment;
use crate::experiments::cells::OfCell;
use crate::experiments::series;
use crate::fault::Fault;
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
    /// What messages follow from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// By what the study's rounds are divided.
    pub divisor: u64,
    /// The workers that are compared with one.
    pub workers: usize,
    /// The networks of each part.
    pub parts: Vec<Part>,
}

/// The networks of one of the study's experiments, or of the one that is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// By name: see [`Experiment::find`].
    pub experiment: String,
    /// As [`Subject::find`] reads them.
    pub networks: Vec<String>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Of what: `app` is the experiment's name.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// What was found. The answer has been checked.
    #[serde(flatten)]
    pub finding: Finding,
}

impl Finding {
    /// Whether this is something that can be found.
    pub(super) fn is_sound(&self) -> bool {
        let is_time = |seconds: f64| seconds.is_finite() && seconds > 0.0;
        is_time(self.seconds) && is_time(self.running_seconds) && self.divisions > 0
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
    const FORMAT: &'static str = "locksley-scatter/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let Header { plan, machine, .. } = &self.header;
        if machine.processors == 0 || plan.workers == 0 || plan.divisor == 0 {
            return Some("it speaks of no workers, no processors or no rounds".to_owned());
        }
        let wrong = |part: &Part| {
            let networks = part.networks.iter().find_map(|size| Subject::find(size).err());
            Experiment::find(&part.experiment).err().or(networks)
        };
        if let Some(Fault::Input(flaw) | Fault::Run(flaw)) = plan.parts.iter().find_map(wrong) {
            return Some(flaw);
        }
        let is_sound = |found: &Measurement| {
            Subject::find(&found.cell.size).is_ok()
                && found.cell.workers > 0
                && found.finding.is_sound()
        };
        let all_are_sound = self.measurements.iter().all(is_sound);
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}
