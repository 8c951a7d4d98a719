//! What a program does that is measured beside others: it gets ready, waits until all are, and says
//! when it ran and what it used of the machine.

mod gate;
pub mod repetition;
mod stretch;

pub use gate::{READY, stop_when_told, wait_for_start};
pub(crate) use stretch::processor_seconds;
pub use stretch::{Stretch, Watch};

use serde::{Deserialize, Serialize};

use crate::cycler::{Account, Stamp};

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

/// The line of a cycler behind a start gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CyclerLine {
    /// p: the number of workers.
    #[serde(rename = "p")]
    pub workers: usize,
    /// w: the most increments of a worker that was released.
    #[serde(rename = "w")]
    pub most: u64,
    /// The sum of increments.
    pub increments: u64,
    /// The processors that it had on average, if it was told how many increments one processor
    /// makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<f64>,
    /// The counter's values, again and again, in their order.
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
