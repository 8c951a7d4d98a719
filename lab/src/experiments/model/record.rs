//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::experiments::bound::{Metered, is_time};
use crate::machine::Machine;
use crate::record::{Document, Versions};

/// The format of a record.
pub const FORMAT: &str = "locksley-model/1";

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
    /// The processors that others had on average during the last stretch of this run, if the system tells.
    #[serde(default)]
    pub others: Option<f64>,
    /// The measurements, in the order in which they were taken.
    pub samples: Vec<Sample>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The application.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// P.
    pub workers: usize,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// TP, the time of the computation without a meter; with one where there is one.
    pub seconds: f64,
    /// What the meter said, on one worker.
    pub metered: Option<Metered>,
}

impl Document for Record {
    const FORMAT: &'static str = FORMAT;

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let all_are_times = self.samples.iter().all(|sample| {
            let is_metered = sample.metered.is_none_or(|metered| metered.is_sound());
            is_time(sample.seconds) && is_metered && sample.workers > 0
        });
        if self.machine.processors == 0 {
            return Some("it speaks of no processors".to_owned());
        }
        (!all_are_times).then(|| "it has a time that is none".to_owned())
    }
}
