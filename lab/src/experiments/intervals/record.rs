//! What this experiment writes down: times of applications, as `cliff` has them, and what an interval costs.

use serde::{Deserialize, Serialize};

use super::cost::{Cost, number};
use crate::experiments::series;
use crate::record::{self, Document, Sample};

/// The record of a run.
pub type Record = series::Record<Plan, Measurement>;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The applications, runtimes and numbers of workers; how often, and for how long at most.
    pub times: record::Plan,
    /// Of so many intervals the time is taken.
    pub chain: usize,
    /// Of so many the memory.
    pub graph: usize,
    /// The version of the other runtime whose graphs are measured, if it is there.
    pub peer: Option<String>,
}

/// One measurement; `app` is an application, `chain` or `graph`.
pub type Measurement = series::Measurement<Reading>;

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The time of a computation, or of all intervals.
    Time {
        /// The time.
        seconds: f64,
    },
    /// The memory of all intervals.
    Memory {
        /// By how much resident memory has grown, in bytes.
        bytes: u64,
    },
}

/// A measurement, if it is something that can be read of its kind.
pub(super) fn if_sound(found: Measurement) -> Result<Measurement, String> {
    if is_sound(&found) { Ok(found) } else { Err("it answered something else".to_owned()) }
}

/// Whether this is something that can be read of its kind.
fn is_sound(found: &Measurement) -> bool {
    let cost = Cost::find(&found.cell.app);
    if cost.is_some() && number(&found.cell.size).is_err() {
        return false;
    }
    match found.reading {
        Reading::Time { seconds } => {
            cost != Some(Cost::Graph) && seconds.is_finite() && seconds > 0.0
        }
        Reading::Memory { .. } => cost == Some(Cost::Graph),
    }
}

impl Record {
    /// The times of applications as `cliff` has them, so that its summary and its charts serve here, too.
    pub fn as_cliff(&self) -> record::Record {
        let sample = |found: &Measurement| match found.reading {
            Reading::Time { seconds } if Cost::find(&found.cell.app).is_none() => {
                Some(Sample::timed(found.cell.clone(), found.repeat, seconds))
            }
            Reading::Time { .. } | Reading::Memory { .. } => None,
        };
        record::Record {
            format: record::FORMAT.to_owned(),
            plan: self.header.plan.times.clone(),
            machine: self.header.machine.clone(),
            versions: self.header.versions.clone(),
            started: self.started.clone(),
            finished: self.finished.clone(),
            samples: self.measurements.iter().filter_map(sample).collect(),
            grants: Vec::new(),
        }
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-intervals/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let all_are_sound = self.measurements.iter().all(is_sound);
        let unsound = || (!all_are_sound).then(|| "it has a measurement that is none".to_owned());
        self.as_cliff().flaw().or_else(unsound)
    }
}
