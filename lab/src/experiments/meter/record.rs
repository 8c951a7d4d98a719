//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::once::Subject;
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
    /// What all random input follows from, and how pairs are drawn for intervals.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// How many pairs a process makes at most,
    pub pairs: usize,
    /// and for how long, in seconds.
    pub seconds: f64,
    /// What is measured in each rotation, in order; `app` and `size` name a subject.
    pub cells: Vec<Cell>,
}

/// One measurement.
pub type Measurement = series::Measurement<Reading>;

/// What was read. Every answer has been checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The times of pairs of computations, in nanoseconds: without a profiler, and with one. In the
    /// first pair, the third, and so on, the one without came first; in the others the one with it.
    pub nanos: Vec<[u64; 2]>,
}

impl Reading {
    /// Whether these are times.
    pub(super) fn is_sound(&self) -> bool {
        !self.nanos.is_empty() && self.nanos.iter().flatten().all(|&nanos| nanos > 0)
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-meter/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let cells = &self.header.plan.cells;
        if self.header.machine.processors == 0 || cells.iter().any(|cell| cell.workers == 0) {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        let of_measurements = self.measurements.iter().map(|found| &found.cell);
        let mut unknown = cells
            .iter()
            .chain(of_measurements)
            .filter_map(|cell| Subject::find(&cell.app, &cell.size).err());
        if let Some(Fault::Input(flaw) | Fault::Run(flaw)) = unknown.next() {
            return Some(flaw);
        }
        let all_are_sound = self.measurements.iter().all(|found| found.reading.is_sound());
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}
