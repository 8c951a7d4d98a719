//! What an experiment writes down: the plan, the machine, the versions, and each single measurement.

pub mod files;
pub mod lines;
pub mod time;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::experiments::bound::{Metered, is_time};
use crate::experiments::cliff::plan;
use crate::machine::Machine;
use crate::rounds::Round;

/// The format of a record, checked when one is read.
pub const FORMAT: &str = "locksley-cliff/1";

/// The runtime's name under which serial copies side by side are recorded; `workers` is then the number of copies.
pub const COPIES: &str = "serial copies";

/// The runtime's name under which the critical path is recorded, as Locksley's meter has it with one worker.
pub const CRITICAL_PATH: &str = "critical path";

/// What can be saved as a file and found there again: the record of an experiment.
pub trait Document: Serialize + DeserializeOwned {
    /// The format that this program writes and reads.
    const FORMAT: &'static str;

    /// The format that this one says it has.
    fn format(&self) -> &str;

    /// What cannot be in a document that this laboratory wrote, though it has the form of one.
    fn flaw(&self) -> Option<String>;
}

/// The record of the cliff.
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
    /// What the system had for us meanwhile.
    pub grants: Vec<Grant>,
}

/// What an experiment measures.
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
    /// The numbers of workers.
    pub workers: Vec<usize>,
    /// The runtimes, in the order of their turns.
    pub runtimes: Vec<String>,
    /// The applications and sizes.
    pub inputs: Vec<Input>,
    /// The co-run unit, if it is measured as well.
    pub rounds: Option<RoundsPlan>,
    /// The co-run unit beside two busy threads, if that is measured as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<RoundsPlan>,
}

/// An application and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The application.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// What this input is there to show.
    pub shows: String,
}

/// How the co-run unit is measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundsPlan {
    /// The round.
    pub round: Round,
    /// For how long it is repeated.
    pub seconds: f64,
}

/// What was compared, and what built it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Locksley's version.
    pub locksley: String,
    /// Rayon's version.
    pub rayon: String,
    /// The compiler's.
    pub rustc: String,
    /// A digest of the executable: two builds of one version are told apart by it.
    pub build: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What was measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// The how-manieth time, from 0.
    pub repeat: usize,
    /// The time of the computation, of a round, of the critical path, or the harmonic mean of the copies' times.
    pub seconds: f64,
    /// Where it is the critical path: all that the meter said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Metered>,
}

/// The processors that were there for this program, rather than for others, while an input was measured in one
/// rotation. The system counts in clock ticks, so single measurements are too short for a figure of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The application, or `rounds`.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// The rotation, from 0.
    pub rotation: usize,
    /// For how long.
    pub metered_seconds: f64,
    /// How many processors, on average.
    pub processors: f64,
}

impl Sample {
    /// The time of what was not metered.
    pub fn timed(cell: Cell, repeat: usize, seconds: f64) -> Sample {
        Sample { cell, repeat, seconds, metered: None }
    }
}

/// What a measurement is a measurement of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The application, or `rounds`.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// The runtime, or [`COPIES`], or [`CRITICAL_PATH`].
    pub runtime: String,
    /// The number of workers, or of copies.
    pub workers: usize,
}

impl Document for Record {
    const FORMAT: &'static str = FORMAT;

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let workers = &self.plan.workers;
        if workers.is_empty() || workers.contains(&0) || self.machine.processors == 0 {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        let all_are_times = self.samples.iter().all(|sample| {
            is_time(sample.seconds) && sample.metered.is_none_or(|metered| metered.is_sound())
        });
        (!all_are_times).then(|| "it has a time that is none".to_owned())
    }
}

impl Plan {
    /// The applications and sizes, the co-run unit among them.
    pub fn all_inputs(&self) -> Vec<Input> {
        let rounds = self.rounds.map(|rounds| rounds.input(plan::ROUNDS, "the shortest phases"));
        self.inputs.iter().cloned().chain(rounds).collect()
    }

    /// The co-run unit beside two busy threads.
    pub fn beside_input(&self) -> Option<Input> {
        self.beside.map(|rounds| rounds.input(plan::BESIDE, "two busy threads"))
    }
}

impl RoundsPlan {
    fn input(self, app: &str, shows: &str) -> Input {
        let Round { leaf, chunks, serial } = self.round;
        let size = format!("{chunks}x{leaf}+{serial}");
        Input { app: app.to_owned(), size, shows: shows.to_owned() }
    }
}

impl Versions {
    /// The versions in this executable.
    pub fn of_this_build() -> Versions {
        Versions {
            locksley: env!("CARGO_PKG_VERSION").to_owned(),
            rayon: env!("LAB_RAYON").to_owned(),
            rustc: env!("LAB_RUSTC").to_owned(),
            build: files::digest_of_this_program(),
        }
    }
}
