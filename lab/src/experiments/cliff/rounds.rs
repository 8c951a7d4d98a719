//! Rounds as a subject of the cliff, and what the workers do meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use locksley_classic::Count;

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
    let (numbers, searching, locks) = match crew {
        Crew::Classic(machine) => {
            let numbers = [Count::Steals, Count::FailedSteals, Count::Yields, Count::Sleeps];
            let searching = Duration::from_nanos(machine.count(Count::SearchNanos));
            (Some(numbers.map(|it| machine.count(it))), searching, machine.lock_wait())
        }
        crew => {
            let total = crew.pool().map(|pool| pool.stats().total());
            let searching = total.as_ref().map_or(Duration::ZERO, |it| it.searching);
            let numbers = total.map(|it| [it.steals, it.failed_steals, it.yields, it.sleeps]);
            (numbers, searching, Duration::ZERO)
        }
    };
    if let Some(numbers) = numbers {
        let names = ["steals", "failed steals", "yields", "sleeps"];
        counts.extend(names.into_iter().zip(numbers.map(|number| number as f64)));
        counts.insert("search seconds", searching.as_secs_f64());
        counts.insert("lock seconds", locks.as_secs_f64());
    }
    if let Some(usage) = Usage::now() {
        counts.insert("voluntary switches", usage.voluntary as f64);
        counts.insert("involuntary switches", usage.involuntary as f64);
    }
    counts
}
