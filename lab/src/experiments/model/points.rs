//! The points of the model, by the readings of a record.

use super::bound::Point;
use super::granted::{self, Beside};
use super::{ALONE, PROFILED};
use crate::experiment::prelude::*;

/// T1 and T∞ of a subject, and T1/T∞ as the profiler has both: what profiling costs is in both.
pub(super) fn work_and_span(record: &Record, subject: &str) -> Option<(f64, f64, f64)> {
    let profiled = |metric| record.median(subject, PROFILED, 1, metric);
    let (work, span) = (profiled("work")?, profiled("span")?);
    Some((record.median(subject, ALONE, 1, "seconds")?, span, work / span))
}

pub(super) fn subjects(record: &Record) -> Vec<&str> {
    record.groups("span").into_iter().map(|(subject, _)| subject).collect()
}

/// The points that say something of the model: not those of one worker that is alone, with
/// a utilization of 1 by definition.
pub(super) fn points(record: &Record, rate: Option<f64>) -> Vec<Point> {
    let mut points = Vec::new();
    for subject in subjects(record) {
        let Some((work, _, parallelism)) = work_and_span(record, subject) else { continue };
        let point = |beside: Option<Beside>, workers: usize, processors: f64, seconds: f64| Point {
            subject: subject.to_owned(),
            beside: beside.map_or_else(String::new, |beside| beside.to_string()),
            workers,
            processors,
            normalized: workers as f64 / parallelism,
            utilization: work / (processors * seconds),
        };
        for cell in &record.plan.cells {
            let Cell { runtime, workers, .. } = cell;
            if cell.subject != subject {
                continue;
            }
            if let Some(beside) = Beside::of(runtime) {
                let found = granted::shared(record, subject, runtime, *workers, rate);
                let found =
                    found.map(|it| point(Some(beside), *workers, it.processors, it.seconds));
                points.extend(found);
            } else if runtime == ALONE && *workers > 1 {
                let seconds = alone(record, subject, *workers, work);
                let processors = record.machine.granted(*workers);
                points.extend(seconds.map(|seconds| point(None, *workers, processors, seconds)));
            }
        }
    }
    points
}

/// The time on so many workers, by the median of its ratios to one worker in the same rotation.
fn alone(record: &Record, subject: &str, workers: usize, work: f64) -> Option<f64> {
    let ratios = record.paired(subject, [(ALONE, workers), (ALONE, 1)], SECONDS);
    Some(median(ratios.iter().map(|(_, ratio)| ratio))? * work)
}
