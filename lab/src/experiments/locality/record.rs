//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::Header;
use super::once::{Finding, Level, Placement, Subject};
use super::plan::RUNTIMES;
use crate::apps;
use crate::fault::{Fault, Outcome};
use crate::record::{Cell, Document};

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`Record::FORMAT`].
    pub format: String,
    /// What was measured, where, and of what.
    #[serde(flatten)]
    pub header: Header,
    /// When the run that completed the record began (UTC).
    pub started: String,
    /// When it ended (UTC).
    pub finished: String,
    /// The measurements, in the order in which they were taken.
    pub measurements: Vec<Measurement>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: String,
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// The places.
    pub division: Division,
    /// The level of caches that was asked for, if any was, as the command line names it.
    #[serde(default)]
    pub level: Option<String>,
    /// Why hits and misses of caches are not counted, if they are not.
    #[serde(default)]
    pub uncounted: Uncounted,
    /// What simulates the machine, if anything does.
    #[serde(default)]
    pub simulated: Option<String>,
    /// The number of workers: one for each processor of the places.
    pub workers: usize,
    /// A smaller number, with which some of it is measured as well.
    #[serde(default)]
    pub fewer: Option<usize>,
    /// What is measured under each placement.
    pub inputs: Vec<Input>,
    /// The applications that know nothing of places, by name, with their sizes.
    pub apps: Vec<Input>,
    /// The placements, by name, in the order of their turns.
    pub placements: Vec<String>,
}

/// Why something is not counted, if it is not. All reasons are equal: measurements belong together that are made without counts, whatever the
/// system says of that.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uncounted(pub Option<String>);

impl PartialEq for Uncounted {
    fn eq(&self, other: &Uncounted) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

/// The places of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    /// The processors of each, in the kernel's list format.
    pub places: Vec<String>,
    /// What divides them.
    pub reason: String,
    /// The caches of places: what divides them, or what is in front of their memories.
    #[serde(default)]
    pub kind: String,
    /// The size of the smallest of these, in bytes.
    pub cache: u64,
}

/// What is measured under each placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The kind, or the application, by name.
    pub kind: String,
    /// How much of it: see [`Subject::find`] and [`apps::problem`].
    pub size: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Of what: `app` is the kind, `runtime` the placement; or what they say, for an application.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// What was found. Every answer has been checked.
    pub finding: Finding,
}

impl Measurement {
    /// Whether this is something that can be found.
    fn is_sound(&self) -> bool {
        let (seconds, cell) = (self.finding.seconds, &self.cell);
        let is_placed = || {
            Subject::find(&cell.app, &cell.size).is_ok() && Placement::find(&cell.runtime).is_ok()
        };
        let is_app =
            || RUNTIMES.contains(&cell.runtime.as_str()) && problem(&cell.app, &cell.size).is_ok();
        (is_placed() || is_app()) && seconds.is_finite() && seconds > 0.0
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-locality/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let Header { plan, machine, .. } = &self.header;
        if machine.processors == 0 || plan.workers == 0 || plan.fewer == Some(0) {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        let of_input = plan.inputs.iter().find_map(|input| input.subject().err());
        let of_app = plan.apps.iter().find_map(|app| problem(&app.kind, &app.size).err());
        let of_placement = plan.placements.iter().find_map(|name| Placement::find(name).err());
        let of_level = plan.level.iter().find_map(|name| Level::find(name).err());
        let of_choice = of_placement.or(of_level);
        if let Some(Fault::Input(flaw) | Fault::Run(flaw)) = of_input.or(of_app).or(of_choice) {
            return Some(flaw);
        }
        let all_are_sound = self.measurements.iter().all(Measurement::is_sound);
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}

/// Whether there is such an application, and of that size.
fn problem(app: &str, size: &str) -> Outcome<()> {
    apps::problem(apps::find(app)?, size).map(drop)
}
