//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::unit::Unit;
use crate::corunner::Stretch;
use crate::experiments::course::Header as HeaderOf;
use crate::record::Document;

/// What stands above the measurements of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The plan, the machine, and this build.
    #[serde(flatten)]
    pub common: HeaderOf<Plan>,
    /// The peers' programs.
    pub peers: Vec<Peer>,
    /// What was to be measured and is not, and why.
    pub left_out: Vec<LeftOut>,
}

/// A program of another runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The runtime.
    pub runtime: String,
    /// Its version.
    pub version: String,
    /// A digest of the executable.
    pub build: String,
}

/// What is not measured, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// A runtime, an application or a pair.
    pub name: String,
    /// Why.
    pub reason: String,
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
    /// The measurements, in the order in which they were taken.
    pub samples: Vec<Sample>,
}

/// One measurement: programs that ran at the same time, or one that ran alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The programs.
    pub units: Vec<Unit>,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// What became of each.
    pub runs: Vec<Run>,
    /// Processors that nobody of these used and others did, if the system tells.
    pub disturbance: Option<f64>,
}

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What it completed in a second: rounds, leaves of `loop`, or computations of an application.
    pub rate: f64,
    /// The times of an application's computations that ran beside all others from beginning to end, in seconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<f64>,
    /// When it ran, and what it used.
    pub stretch: Stretch,
    /// How many computations or rounds it completed in that stretch.
    pub completed: u64,
}

impl Sample {
    /// Whether it has a run of each program, and each a rate.
    pub(in crate::experiments) fn is_whole(&self) -> bool {
        let is_rate = |run: &Run| run.rate.is_finite() && run.rate > 0.0;
        !self.units.is_empty()
            && self.units.len() == self.runs.len()
            && self.runs.iter().all(is_rate)
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-corun/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        if self.header.common.machine.processors == 0 {
            return Some("it speaks of no processors".to_owned());
        }
        let all_are = self.samples.iter().all(Sample::is_whole);
        (!all_are).then(|| "it has a measurement that is none".to_owned())
    }
}
