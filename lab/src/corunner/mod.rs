//! What a program does that is measured beside others: it gets ready, waits until all are, and says
//! when it ran and what it used of the machine.

mod gate;
pub mod repetition;
mod stretch;

pub use gate::{READY, stop_when_told, wait_for_start};
pub use stretch::{Stretch, Watch};

use serde::{Deserialize, Serialize};

use crate::cycler::{Account, Done};

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

/// The line of a cycler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CyclerLine {
    /// What it did.
    #[serde(flatten)]
    pub done: Done,
    /// When, and what it used.
    #[serde(flatten)]
    pub stretch: Stretch,
}

impl CyclerLine {
    /// What it had counted when.
    pub fn account(&self) -> Account {
        let Done { stamps, increments, .. } = &self.done;
        Account::of(stamps, self.stretch.begun, self.stretch.ended, *increments)
    }
}
