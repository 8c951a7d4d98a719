//! What a program does that is measured beside others: it gets ready, waits until all are, and says
//! when it ran and what it used of the machine.

mod gate;
pub mod repetition;
mod stretch;

pub use gate::{READY, stop_when_told, wait_for_start};
pub(crate) use stretch::processor_seconds;
pub use stretch::{Stretch, Watch};

use serde::{Deserialize, Serialize};

use crate::cycler::{Account, End, Stamp};

/// The line of `rounds` behind a start gate. Peers' programs print the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundsLine {
    /// The runtime.
    pub runtime: String,
    /// The number of workers.
    #[serde(rename = "P")]
    pub workers: usize,
    /// Rounds in a second; leaves in a second for `loop`, where a round is a leaf.
    pub rounds_per_s: f64,
    /// How many there were.
    pub rounds: u64,
    /// When, and what they used.
    #[serde(flatten)]
    pub stretch: Stretch,
}

/// The line of a cycler. The names p, w and W are those of the papers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CyclerLine {
    /// The number of workers.
    #[serde(rename = "p")]
    pub workers: usize,
    /// The most increments of a worker that was released.
    #[serde(rename = "w")]
    pub most: u64,
    /// The sum at which it would end, if there is one.
    #[serde(rename = "W")]
    pub total: Option<u64>,
    /// What its choices follow from.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
    /// How often workers were released.
    pub iterations: u64,
    /// The sum of increments.
    pub increments: u64,
    /// What made it end.
    pub ended_by: End,
    /// Behind a start gate: the counter's values, again and again, in their order.
    pub stamps: Vec<Stamp>,
    /// When, and what it used.
    #[serde(flatten)]
    pub stretch: Stretch,
}

impl CyclerLine {
    /// What it had counted when.
    pub fn account(&self) -> Account {
        Account::of(&self.stamps, self.stretch.begun, self.stretch.ended, self.increments)
    }
}
