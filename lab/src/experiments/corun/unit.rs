//! What is measured, alone or beside others: a program on a runtime.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rounds::Round;
use crate::rounds::busy::LOOP;

/// A program on a runtime, with so many workers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// What it computes.
    #[serde(flatten)]
    pub job: Job,
    /// The runtime.
    pub runtime: String,
    /// The number of workers.
    pub workers: usize,
}

/// What a program computes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Rounds, for a fixed time.
    Rounds(Round),
    /// An application, again and again.
    App {
        /// Its name.
        app: String,
        /// Its parameters.
        size: String,
    },
}

impl Job {
    /// The application called `app`, with these parameters.
    pub fn app(app: &str, size: &str) -> Job {
        Job::App { app: app.to_owned(), size: size.to_owned() }
    }

    /// The round; none for an application.
    pub fn round(&self) -> Option<Round> {
        match self {
            Job::Rounds(round) => Some(*round),
            Job::App { .. } => None,
        }
    }
}

impl Unit {
    /// `loop`: so many threads that are busy with leaves.
    pub fn busy(leaf: u64, threads: usize) -> Unit {
        let job = Job::Rounds(Round { leaf, chunks: 1, serial: 0 });
        Unit { job, runtime: LOOP.to_owned(), workers: threads }
    }

    /// Whether it is [`Unit::busy`].
    pub fn is_busy(&self) -> bool {
        self.runtime == LOOP
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unit { job, runtime, workers } = self;
        match job {
            Job::Rounds(_) if self.is_busy() => write!(f, "{LOOP} with {workers}"),
            Job::Rounds(Round { leaf, chunks, serial }) => {
                write!(f, "rounds {leaf},{chunks},{serial} on {runtime} with {workers}")
            }
            Job::App { app, size } => write!(f, "{app} {size} on {runtime} with {workers}"),
        }
    }
}
