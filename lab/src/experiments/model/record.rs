//! What this experiment writes down.

use locksley::meter::Report;
use serde::{Deserialize, Serialize};

use super::plan::Plan;
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

/// What the meter said. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    /// T1, with what metering costs.
    pub work: f64,
    /// T∞, with what metering costs.
    pub critical_path: f64,
    /// The same with 5 µs for each edge that could be one between workers.
    pub burdened_critical_path: f64,
    /// How many times it forked.
    pub forks: u64,
    /// Waits whose order the meter does not follow.
    pub uncarried: u64,
}

impl Metered {
    /// From the meter's report.
    pub(super) fn new(report: &Report) -> Metered {
        Metered {
            work: report.work.as_secs_f64(),
            critical_path: report.critical_path.as_secs_f64(),
            burdened_critical_path: report.burdened_critical_path.as_secs_f64(),
            forks: report.forks,
            uncarried: report.uncarried,
        }
    }
}

impl Document for Record {
    const FORMAT: &'static str = FORMAT;

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let is_time = |seconds: f64| seconds.is_finite() && seconds > 0.0;
        let all_are_times = self.samples.iter().all(|sample| {
            let metered = sample.metered.map_or([1.0; 2], |m| [m.work, m.critical_path]);
            is_time(sample.seconds) && metered.into_iter().all(is_time) && sample.workers > 0
        });
        if self.machine.processors == 0 {
            return Some("it speaks of no processors".to_owned());
        }
        (!all_are_times).then(|| "it has a time that is none".to_owned())
    }
}
