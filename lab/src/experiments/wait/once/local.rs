//! The runtimes that are compared.

use locksley::task::Placement;

use super::locksley::Locksley;
use super::smol::Smol;
use super::tokio::Tokio;
use super::{Subject, on};
use crate::experiments::local;
use crate::fault::Outcome;

/// A runtime.
pub type Local = local::Local<Subject>;

/// All of them, in the order of their turns.
pub static LOCAL: [Local; 5] = [
    Local {
        name: "locksley",
        about: "Locksley: a task that was unblocked goes to the worker that last ran it (WS-LAST)",
        version: env!("CARGO_PKG_VERSION"),
        is_single: false,
        measure: |subject, workers, seed| {
            on(&Locksley::start(workers, Placement::Last)?, subject, seed)
        },
    },
    Local {
        name: "locksley-cur",
        about: "Locksley: to the worker that unblocked it (WS-CUR)",
        version: env!("CARGO_PKG_VERSION"),
        is_single: false,
        measure: |subject, workers, seed| {
            on(&Locksley::start(workers, Placement::Current)?, subject, seed)
        },
    },
    Local {
        name: "tokio-current",
        about: "tokio's scheduler for one thread; tokio::sync's semaphore, and a counter with a Notify",
        version: env!("LAB_TOKIO"),
        is_single: true,
        measure: |subject, _, seed| on(&Tokio::of_one()?, subject, seed),
    },
    Local {
        name: "tokio",
        about: "tokio's scheduler for several threads; the same",
        version: env!("LAB_TOKIO"),
        is_single: false,
        measure: |subject, workers, seed| on(&Tokio::of_several(workers)?, subject, seed),
    },
    Local {
        name: "smol",
        about: "async-executor, which smol runs on; async-lock's semaphore, and a counter with an Event",
        version: env!("LAB_ASYNC_EXECUTOR"),
        is_single: false,
        measure: |subject, workers, seed| on(&Smol::start(workers)?, subject, seed),
    },
];

/// The runtime of that name.
pub fn find(name: &str) -> Outcome<&'static Local> {
    local::find(&LOCAL, name)
}
