//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::experiments::corun::record::{Peer, Sample};
use crate::experiments::course::Header as HeaderOf;
use crate::record::Document;

/// What stands above the measurements of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The plan, the machine, and this build.
    #[serde(flatten)]
    pub common: HeaderOf<Plan>,
    /// The two programs.
    pub programs: Vec<Peer>,
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`Record::FORMAT`].
    pub format: String,
    /// What was measured, where and with what.
    #[serde(flatten)]
    pub header: Header,
    /// When the run that completed the record began (UTC).
    pub started: String,
    /// When it ended (UTC).
    pub finished: String,
    /// The measurements, in the order in which they were taken: a workload as an application, `loop` beside it or alone.
    pub samples: Vec<Sample>,
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-rayon/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let common = &self.header.common;
        if common.machine.processors == 0 || common.plan.processors == 0 {
            return Some("it speaks of no processors".to_owned());
        }
        let all_are_whole = self.samples.iter().all(Sample::is_whole);
        (!all_are_whole).then(|| "it has a measurement that is none".to_owned())
    }
}
