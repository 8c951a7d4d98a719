//! What this experiment writes down: the measurements of `cliff`, each with what it cost.

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::record::{self, Document, Plan, Versions};
use crate::runtimes::Effort;
use crate::switches::Switches;

/// The format of a record.
pub const FORMAT: &str = "locksley-alternatives/1";

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

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// How long it took.
    #[serde(flatten)]
    pub time: record::Sample,
    /// How long everything took that the rest counts: more than one round, where rounds are measured. In seconds.
    pub wall: f64,
    /// What the workers did meanwhile; none on the serial program.
    pub effort: Option<Effort>,
    /// Context switches of all threads meanwhile; `None` where the system does not tell.
    pub switches: Option<Switches>,
}

impl Record {
    /// The measurements as `cliff` has them, so that its summary and its charts serve here, too.
    pub fn as_cliff(&self) -> record::Record {
        record::Record {
            format: record::FORMAT.to_owned(),
            plan: self.plan.clone(),
            machine: self.machine.clone(),
            versions: self.versions.clone(),
            started: self.started.clone(),
            finished: self.finished.clone(),
            samples: self.samples.iter().map(|sample| sample.time.clone()).collect(),
            grants: Vec::new(),
        }
    }
}

impl Document for Record {
    const FORMAT: &'static str = FORMAT;

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        self.as_cliff().flaw()
    }
}
