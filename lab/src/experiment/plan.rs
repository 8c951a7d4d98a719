//! What an experiment measures.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::child::version_of_peer;
use super::{Course, workers};
use crate::fault::{Fault, Outcome};
use crate::runtimes;

/// What a run measures. Runs with equal plans on one machine by one build continue each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// After so many seconds no measurement is begun, except to measure each cell once.
    pub budget_seconds: f64,
    /// After so many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// What else was chosen, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// What is said before the run, and on the page: what a quick run leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The runtimes that are compared.
    pub runtimes: Vec<Runtime>,
    /// The runtimes that cannot be measured here, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// The cells, in the order of their turns.
    pub cells: Vec<Cell>,
}

/// A runtime that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in a line.
    pub about: String,
}

/// Something that is measured again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Args)]
pub struct Cell {
    /// What is computed, with its size.
    pub subject: String,
    /// On which runtime.
    pub runtime: String,
    /// With how many workers; 0 if the runtime chooses.
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// How often, if the time suffices.
    #[arg(skip = 1_usize)]
    pub repeats: usize,
}

impl Cell {
    /// Whether it measures this.
    pub fn is(&self, subject: &str, runtime: &str, workers: usize) -> bool {
        self.subject == subject && self.runtime == runtime && self.workers == workers
    }
}

impl Plan {
    /// A plan without cells, with the seed and the extent that the command line asks for.
    pub fn of(course: &Course, budget_seconds: f64, limit_seconds: f64) -> Plan {
        let Course { quick, seed, .. } = *course;
        Plan { quick, seed, budget_seconds, limit_seconds, ..Plan::default() }
    }

    /// How long a measurement may take.
    pub fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.limit_seconds)
    }

    /// Says what a quick run leaves out.
    pub fn quick_subset(&mut self, what: &str) {
        if self.quick {
            self.notes.push(format!("Quick subset: {what}"));
        }
    }

    /// Adds a cell.
    pub fn add(&mut self, subject: &str, runtime: &str, workers: usize, repeats: usize) {
        let (subject, runtime) = (subject.to_owned(), runtime.to_owned());
        self.cells.push(Cell { subject, runtime, workers, repeats });
    }

    /// Adds a cell, or makes the one like it be measured more often.
    pub fn add_once(&mut self, subject: &str, runtime: &str, workers: usize, repeats: usize) {
        match self.cells.iter_mut().find(|cell| cell.is(subject, runtime, workers)) {
            Some(cell) => cell.repeats = cell.repeats.max(repeats),
            None => self.add(subject, runtime, workers, repeats),
        }
    }

    /// Adds the program of a peer to the runtimes that are compared, if it is there; else the
    /// reason to what is left out.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if it is required and not there.
    pub fn compare_peer(
        &mut self,
        name: &str,
        program: &Path,
        about: &str,
        is_required: bool,
    ) -> Outcome<()> {
        match version_of_peer(program) {
            Ok(version) => self.compare(name, &version, about),
            Err(why) if is_required => return Err(Fault::input(format!("{name}: {why}"))),
            Err(why) => _ = self.left_out.insert(name.to_owned(), why.to_string()),
        }
        Ok(())
    }

    /// Adds a runtime of the laboratory to those that are compared.
    pub fn compare_runtime(&mut self, runtime: &runtimes::Runtime) {
        self.compare(runtime.name, runtime.version(), runtime.about);
    }

    /// Adds a runtime to those that are compared.
    pub fn compare(&mut self, name: &str, version: &str, about: &str) {
        let [name, version, about] = [name, version, about].map(str::to_owned);
        self.runtimes.push(Runtime { name, version, about });
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { subject, runtime, workers, .. } = self;
        match workers {
            0 => write!(f, "{subject} on {runtime}"),
            workers => write!(f, "{subject} on {runtime}, P = {workers}"),
        }
    }
}

/// The names that were asked for, each of which must be one of `known`; all of `default` if none
/// was.
///
/// # Errors
///
/// [`Fault::Input`] with the known names.
pub fn chosen<'a>(
    what: &str,
    asked: &'a [String],
    known: &[&'a str],
    default: &[&'a str],
) -> Outcome<Vec<&'a str>> {
    if asked.is_empty() {
        return Ok(default.to_vec());
    }
    let find = |name: &'a String| {
        known.iter().copied().find(|known| known == name).ok_or_else(|| {
            let known = known.join(", ");
            Fault::input(format!("unknown {what} '{name}'; there are {known}"))
        })
    };
    asked.iter().map(find).collect()
}
