//! What the journal of a run holds.

use serde::{Deserialize, Serialize};

use crate::experiments::journal::Journal;
use crate::record::{Cell, Grant, Sample};

/// A line of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    Sample(Sample),
    Grant(Grant),
}

/// How many measurements there are.
pub(super) fn measured(journal: &Journal<Entry>) -> usize {
    journal.entries().iter().filter(|entry| matches!(entry, Entry::Sample(_))).count()
}

/// Whether this one is among them.
pub(super) fn has(journal: &Journal<Entry>, cell: &Cell, repeat: usize) -> bool {
    let is_it = |entry: &Entry| match entry {
        Entry::Sample(sample) => sample.repeat == repeat && sample.cell == *cell,
        Entry::Grant(_) => false,
    };
    journal.entries().iter().any(is_it)
}

/// All measurements, and what was granted meanwhile.
pub(super) fn parts(entries: Vec<Entry>) -> (Vec<Sample>, Vec<Grant>) {
    let (mut samples, mut grants) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Entry::Sample(sample) => samples.push(sample),
            Entry::Grant(grant) => grants.push(grant),
        }
    }
    (samples, grants)
}
