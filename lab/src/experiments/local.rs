//! The runtimes that are compared in this program.

use super::reading::Finding;
use crate::fault::{Fault, Outcome};

/// A runtime, and how it measures something.
pub struct Local<S> {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Whether it has one worker and no more.
    pub(super) is_single: bool,
    pub(super) measure: fn(S, usize, u64) -> Result<Finding, String>,
}

impl<S> Local<S> {
    /// Whether it can have so many workers.
    pub fn can_have(&self, workers: usize) -> bool {
        workers == 1 || !self.is_single
    }

    /// Measures `subject` once on `workers` fresh workers.
    pub fn measure(&self, subject: S, workers: usize, seed: u64) -> Outcome<Finding> {
        if !self.can_have(workers) {
            return Err(Fault::input(format!("{} has one worker only", self.name)));
        }
        (self.measure)(subject, workers, seed)
            .map_err(|reason| Fault::run(format!("{} with {workers} workers: {reason}", self.name)))
    }
}

/// The one of that name among `all`.
pub(super) fn find<'a, S>(all: &'a [Local<S>], name: &str) -> Outcome<&'a Local<S>> {
    all.iter()
        .find(|local| local.name == name)
        .ok_or_else(|| unknown(name, all.iter().map(|local| local.name)))
}

/// That nothing of that name is known.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Fault {
    let known = known.collect::<Vec<_>>().join(", ");
    Fault::input(format!("unknown runtime '{name}'; there are {known}"))
}
