//! What a process that measures one thing once says: a time, or the memory of what waits.

use serde::{Deserialize, Serialize};

/// The time of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The time.
    pub seconds: f64,
    /// What came out.
    pub answer: u64,
    /// Where two take part: in which share of what was looked at they were on different threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
}

/// The memory of what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// By how much the process's resident memory has grown, in bytes.
    pub bytes: u64,
    /// The size of the own future of each that waits, in bytes.
    pub future: u64,
    /// What came out when they went on.
    pub answer: u64,
}

/// What a child found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Finding {
    /// Of a computation.
    Timed(Timed),
    /// Of what waits.
    Memory(Memory),
}

/// What was read. Every answer has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The time of all that was done.
    Time {
        /// The time.
        seconds: f64,
        /// See [`Timed::apart`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart: Option<f64>,
    },
    /// The memory of all that wait.
    Memory {
        /// By how much resident memory has grown, in bytes.
        bytes: u64,
        /// The size of the own future of each, in bytes.
        future: u64,
    },
}

impl Finding {
    /// What came out.
    pub fn answer(&self) -> u64 {
        match self {
            Finding::Timed(timed) => timed.answer,
            Finding::Memory(memory) => memory.answer,
        }
    }

    /// What is recorded of it, if it is a time or memory as it should be.
    pub(super) fn reading(self, is_memory: bool) -> Result<Reading, String> {
        let reading = match self {
            Finding::Timed(Timed { seconds, apart, .. }) => Reading::Time { seconds, apart },
            Finding::Memory(Memory { bytes, future, .. }) => Reading::Memory { bytes, future },
        };
        let is_sound = reading.is_sound(is_memory);
        is_sound.then_some(reading).ok_or_else(|| "it answered something else".to_owned())
    }
}

impl Reading {
    /// Whether this is something that can be read where it should be a time, or memory.
    pub(super) fn is_sound(&self, is_memory: bool) -> bool {
        match *self {
            Reading::Time { seconds, apart } => {
                !is_memory
                    && seconds.is_finite()
                    && seconds > 0.0
                    && apart.is_none_or(|share| (0.0..=1.0).contains(&share))
            }
            Reading::Memory { .. } => is_memory,
        }
    }
}
