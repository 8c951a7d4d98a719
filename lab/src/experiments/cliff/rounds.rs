//! Rounds as a subject of the cliff, and what the workers do meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use super::BESIDE;
use crate::experiment::prelude::*;
use crate::rounds::Round;
use crate::runtimes::Crew;
use crate::usage::Usage;

/// The round that a subject names.
pub(super) fn round(subject: &str) -> Outcome<Round> {
    let read = || {
        let (chunks, rest) = subject.rsplit_once(' ')?.1.split_once('x')?;
        let (leaf, serial) = rest.split_once('+')?;
        Some(Round {
            leaf: leaf.parse().ok()?,
            chunks: chunks.parse().ok()?,
            serial: serial.parse().ok()?,
        })
    };
    read().ok_or_else(|| Fault::input(format!("'{subject}' has no round")))?.validate()
}

/// For how long rounds are repeated: beside busy threads, for longer than some turns of the
/// kernel's scheduler.
pub(super) fn time(plan: &Plan, subject: &str) -> Duration {
    let times = if subject.starts_with(BESIDE) { [2000, 400] } else { [1000, 100] };
    Duration::from_millis(times[usize::from(plan.quick)])
}

/// What the workers did, and the context switches of all threads.
pub(super) fn counts(crew: &Crew) -> BTreeMap<&'static str, f64> {
    let mut counts = BTreeMap::new();
    if let Some(pool) = crew.pool() {
        let total = pool.stats().total();
        counts.extend([
            ("steals", total.steals as f64),
            ("failed steals", total.failed_steals as f64),
            ("yields", total.yields as f64),
            ("sleeps", total.sleeps as f64),
            ("search seconds", total.searching.as_secs_f64()),
            ("lock seconds", total.lock_wait.as_secs_f64()),
        ]);
    }
    if let Some(usage) = Usage::now() {
        counts.insert("voluntary switches", usage.voluntary as f64);
        counts.insert("involuntary switches", usage.involuntary as f64);
    }
    counts
}
