//! One measurement in a process of its own, which this program or a peer's makes.

use locksley::task::Placement;
use serde::Deserialize;

use super::on_locksley::Locksley;
use super::on_tokio::Tokio;
use super::runtime::Runtime;
use super::subject::{Kind, Subject};
use super::{networks, tasks};
use crate::experiment::prelude::*;

/// The runtime that has targets.
pub(super) const OURS: &str = "locksley";
/// What the others are compared with.
pub(super) const BASE: &str = "tokio";
/// It has one worker.
pub(super) const SINGLE: &str = "tokio-current";
/// A program of its own, which has networks only.
pub(super) const GO: &str = "go";

/// The runtimes of this program: name, version, and what it is.
pub(super) const LOCAL: [(&str, &str, &str); 4] = [
    (OURS, env!("CARGO_PKG_VERSION"), "what was unblocked goes to the worker that last ran it"),
    ("locksley-cur", env!("CARGO_PKG_VERSION"), "the same; to the worker that unblocked it"),
    (SINGLE, env!("LAB_TOKIO"), "tokio's scheduler for one thread, its semaphores and channels"),
    (BASE, env!("LAB_TOKIO"), "the same on its scheduler for several threads"),
];

/// The metrics: of each message, task or whatever is counted.
pub(super) const NS: &str = "ns";
pub(super) const BYTES: &str = "bytes";
pub(super) const FUTURE: &str = "future bytes";
/// The bytes of each without its future and the message that its channel holds.
pub(super) const BEYOND: &str = "bytes beyond";
/// The share of what was looked at in which two processes or tasks ran on different threads.
pub(super) const APART: &str = "apart";

/// What a measurement has found: what a peer's program prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(super) struct Finding {
    /// See [`Subject::answer`].
    pub(super) answer: u64,
    /// The time of all.
    pub(super) seconds: Option<f64>,
    /// See [`APART`].
    pub(super) apart: Option<f64>,
    /// By how much the resident memory of the process has grown.
    pub(super) bytes: Option<f64>,
    /// The size of the own future of each that waits, in bytes.
    pub(super) future: Option<f64>,
}

impl Finding {
    pub(super) fn timed(answer: u64, seconds: f64) -> Finding {
        Finding { answer, seconds: Some(seconds), ..Finding::default() }
    }

    pub(super) fn memory(answer: u64, before: u64, after: u64, future: usize) -> Finding {
        let bytes = after.saturating_sub(before) as f64;
        Finding { answer, bytes: Some(bytes), future: Some(future as f64), ..Finding::default() }
    }

    /// What is recorded of it, if the answer is right, and it is a measurement of this subject.
    pub(super) fn readings(self, of: Subject, seed: u64) -> Outcome<Readings> {
        right(self.answer, of.answer(seed))?;
        let count = of.count() as f64;
        let all = if of.kind.is_memory() {
            let bytes = self.bytes.map(|bytes| bytes / count);
            let held = if of.kind == Kind::Idle { size_of::<u64>() as f64 } else { 0.0 };
            let beyond = bytes.zip(self.future).map(|(bytes, future)| bytes - future - held);
            vec![(BYTES, bytes), (FUTURE, self.future), (BEYOND, beyond)]
        } else {
            vec![(NS, self.seconds.map(|seconds| seconds / count * 1e9)), (APART, self.apart)]
        };
        if all[0].1.is_none() {
            return Err(Fault::Missing("it measured something else".to_owned()));
        }
        let known = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Ok(named(known))
    }
}

/// Whether a runtime has this kind with so many workers; else why not.
pub(super) fn suits(runtime: &str, kind: Kind, workers: usize) -> Result<(), String> {
    match runtime {
        SINGLE if workers > 1 => Err(format!("{runtime} has one worker only")),
        GO if !kind.is_network() => Err(format!("{runtime} has networks only")),
        _ => Ok(()),
    }
}

/// Measures a subject once on fresh workers.
pub(super) fn measure(runtime: &str, workers: usize, of: Subject, seed: u64) -> Outcome<Finding> {
    fn on(runtime: &impl Runtime, subject: Subject, seed: u64) -> Outcome<Finding> {
        if subject.kind.is_network() {
            networks::measure(runtime, subject, seed)
        } else {
            tasks::measure(runtime, subject, seed)
        }
    }
    suits(runtime, of.kind, workers).map_err(Fault::Input)?;
    match runtime {
        OURS => on(&Locksley::start(workers, Placement::Last)?, of, seed),
        SINGLE => on(&Tokio::start(None)?, of, seed),
        BASE => on(&Tokio::start(Some(workers))?, of, seed),
        _ => on(&Locksley::start(workers, Placement::Current)?, of, seed),
    }
}
