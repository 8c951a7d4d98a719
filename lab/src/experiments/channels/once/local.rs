//! The runtimes that are compared in this program.

use locksley::task::Placement;

use super::locksley::Locksley;
use super::tokio::Tokio;
use super::{Subject, on};
use crate::experiments::local;
use crate::fault::Outcome;

/// A runtime.
pub type Local = local::Local<Subject>;

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

/// The runtime of that name.
pub fn find(name: &str) -> Outcome<&'static Local> {
    local::find(&LOCAL, name)
}
