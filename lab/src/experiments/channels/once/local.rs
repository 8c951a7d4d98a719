//! The runtimes that are compared in this program.

use locksley::task::Placement;

use super::locksley::Locksley;
use super::tokio::Tokio;
use super::{Finding, Subject, on};

/// A runtime.
pub struct Local {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Whether it has one worker and no more.
    is_single: bool,
    measure: fn(Subject, usize, u64) -> Result<Finding, String>,
}

/// All of them, in the order of their turns.
pub static LOCAL: [Local; 4] = [
    Local {
        name: "locksley",
        about: "Locksley's process networks: an unblocked process goes to the worker that last ran it (WS-LAST)",
        version: env!("CARGO_PKG_VERSION"),
        is_single: false,
        measure: |subject, workers, seed| {
            on(&Locksley::start(workers, Placement::Last)?, subject, seed)
        },
    },
    Local {
        name: "locksley-cur",
        about: "the same; to the worker that unblocked it (WS-CUR)",
        version: env!("CARGO_PKG_VERSION"),
        is_single: false,
        measure: |subject, workers, seed| {
            on(&Locksley::start(workers, Placement::Current)?, subject, seed)
        },
    },
    Local {
        name: "tokio-current",
        about: "tasks and tokio::sync::mpsc on tokio's scheduler for one thread",
        version: env!("LAB_TOKIO"),
        is_single: true,
        measure: |subject, _, seed| on(&Tokio::of_one()?, subject, seed),
    },
    Local {
        name: "tokio",
        about: "the same on its scheduler for several threads",
        version: env!("LAB_TOKIO"),
        is_single: false,
        measure: |subject, workers, seed| on(&Tokio::of_several(workers)?, subject, seed),
    },
];

impl Local {
    /// The runtime of that name.
    pub fn find(name: &str) -> Option<&'static Local> {
        LOCAL.iter().find(|local| local.name == name)
    }

    /// Whether it can have so many workers.
    pub fn can_have(&self, workers: usize) -> bool {
        workers == 1 || !self.is_single
    }

    pub(super) fn measure(
        &self,
        subject: Subject,
        workers: usize,
        seed: u64,
    ) -> Result<Finding, String> {
        (self.measure)(subject, workers, seed)
    }
}
