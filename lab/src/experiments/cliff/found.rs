//! What a record of the cliff says, sorted out once.

use std::collections::BTreeMap;

use super::{BESIDE, COPIES, ROUNDS};
use crate::experiment::prelude::*;

/// A utilization above this one is noise. Caches can make a parallel program a little faster than
/// the serial one.
const MOST_UTILIZATION: f64 = 1.2;
/// What was measured of a subject on a runtime with a number of workers.
pub(super) struct Point<'a> {
    /// Subject, runtime, and P.
    pub(super) of: (&'a str, &'a str, usize),
    /// The median of TP, and the longest over the shortest.
    pub(super) time: f64,
    pub(super) spread: f64,
    /// T1/TP.
    pub(super) speedup: f64,
    /// T1/(PA·TP).
    pub(super) utilization: f64,
    /// The share of its speed that a serial copy keeps beside PA − 1 others.
    pub(super) ceiling: f64,
}

impl Point<'_> {
    /// False if other programs must have taken processors while T1 was measured.
    pub(super) fn is_plausible(&self) -> bool {
        self.utilization <= MOST_UTILIZATION
    }

    pub(super) fn name(&self) -> String {
        format!("{} at P = {}", self.of.0, self.of.2)
    }
}

/// The readings of a repetition, by metric.
pub(super) type Repeat<'a> = BTreeMap<&'a str, f64>;

/// All that a record says, sorted out once.
pub(super) struct Found<'a> {
    pub(super) record: &'a Record,
    /// Without the one beside busy threads.
    pub(super) subjects: Vec<&'a str>,
    pub(super) points: Vec<Point<'a>>,
}

impl<'a> Found<'a> {
    pub(super) fn of(record: &'a Record) -> Found<'a> {
        let mut found = Found { record, subjects: Vec::new(), points: Vec::new() };
        for (subject, workers) in record.groups(SECONDS) {
            if subject.starts_with(BESIDE) {
                continue;
            }
            if !found.subjects.contains(&subject) {
                found.subjects.push(subject);
            }
            let ceiling = found.ceiling(subject, workers);
            for runtime in scaling::runtimes(record, subject) {
                let mut times = record.values(subject, runtime, workers, SECONDS);
                times.sort_by(f64::total_cmp);
                let speedup = scaling::speedup(record, subject, runtime, workers);
                // A time of 0 has no spread, and gives no speedup.
                let is_measured = |speedup: &f64| times[0] > 0.0 && *speedup > 0.0;
                let Some(speedup) = speedup.filter(is_measured) else { continue };
                let (of, spread) = ((subject, runtime, workers), times[times.len() - 1] / times[0]);
                let time = median(&times).expect("there is a time");
                let utilization = speedup / record.machine.granted(workers);
                found.points.push(Point { of, time, spread, speedup, utilization, ceiling });
            }
        }
        found
    }

    pub(super) fn find(&self, subject: &str, runtime: &str, workers: usize) -> Option<&Point<'a>> {
        self.points.iter().find(|it| it.of == (subject, runtime, workers))
    }

    /// A ceiling is what can be reached, so the best of each counts: a disturbance must not lower
    /// it.
    pub(super) fn ceiling(&self, subject: &str, workers: usize) -> f64 {
        let least = |workers, metric| {
            self.record.values(subject, SERIAL, workers, metric).into_iter().reduce(f64::min)
        };
        let copies = self.record.machine.granted(workers).ceil() as usize;
        let share = || Some((least(1, SECONDS)? / least(copies, COPIES)?).min(1.0));
        share().unwrap_or(1.0)
    }

    /// True if a point is not plausible: then nothing can be concluded from the record as a whole.
    pub(super) fn is_noisy(&self) -> bool {
        !self.points.iter().all(Point::is_plausible)
    }

    /// The plausible points of a runtime with more workers than processors.
    pub(super) fn crowded(&self, runtime: &str) -> Vec<&Point<'a>> {
        let capacity = self.record.machine.capacity();
        let is_it = |it: &&Point<'_>| it.of.1 == runtime && it.of.2 as f64 > capacity;
        self.points.iter().filter(is_it).filter(|it| it.is_plausible()).collect()
    }

    pub(super) fn lowest(&self, runtime: &str) -> Option<&Point<'a>> {
        let crowded = self.crowded(runtime);
        crowded.into_iter().min_by(|a, b| a.utilization.total_cmp(&b.utilization))
    }

    /// Speed beside two busy threads over speed alone, with a worker for each processor.
    pub(super) fn beside(&self) -> Vec<(String, f64)> {
        let median = |subject: &str, runtime: &str| {
            let name = self.record.samples.iter().find(|it| it.subject.starts_with(subject))?;
            let workers = self.record.machine.processors;
            self.record.median(&name.subject, runtime, workers, SECONDS)
        };
        let share = |runtime: &str| {
            let share = median(&format!("{ROUNDS} "), runtime)? / median(BESIDE, runtime)?;
            Some((runtime.to_owned(), share))
        };
        // The name with the longer beginning comes last in a record, so `rounds` is found first.
        self.record.runtimes().into_iter().filter_map(share).collect()
    }

    /// The readings of each repetition.
    pub(super) fn repeats(&self, subject: &str, runtime: &str, workers: usize) -> Vec<Repeat<'_>> {
        let mut repeats: BTreeMap<usize, Repeat<'_>> = BTreeMap::new();
        for it in &self.record.samples {
            if (it.subject.as_str(), it.runtime.as_str(), it.workers) == (subject, runtime, workers)
            {
                repeats.entry(it.repeat).or_default().insert(&it.metric, it.value);
            }
        }
        repeats.into_values().collect()
    }
}
