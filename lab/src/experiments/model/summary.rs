//! Medians, normalized.

use super::fit::{self, Fit};
use super::plan::KNARY;
use super::record::{Metered, Record};

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The processors that a program can have on that machine.
    pub capacity: f64,
    /// Each input.
    pub inputs: Vec<InputSummary>,
    /// The constants of `knary`, of the other applications, and of all.
    pub fits: [(&'static str, Option<Fit>); 3],
}

/// An input with its points.
#[derive(Debug, Clone)]
pub struct InputSummary {
    /// The application.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// T1: the median time with one worker, without the meter.
    pub work: f64,
    /// T∞: the median of what the meter said.
    pub critical_path: f64,
    /// What the meter said of the work, relative to T1: what metering costs, among other things.
    pub metered: f64,
    /// Whether the meter followed all waits.
    pub is_whole: bool,
    /// Each number of workers.
    pub points: Vec<Point>,
}

/// An input on a number of workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// P.
    pub workers: usize,
    /// P/(T1/T∞): the normalized number of processes.
    pub normalized: f64,
    /// T1/(PA·TP).
    pub utilization: f64,
}

/// The target of the envelope: the constants under whose curve no point should lie.
pub const TARGET: (f64, f64) = (1.05, 2.0);

impl InputSummary {
    /// T1/T∞, both as the meter has them: what metering costs is in both.
    pub fn parallelism(&self) -> f64 {
        self.metered * self.work / self.critical_path
    }

    /// The points that say anything of the model: not that of one worker, whose utilization is 1 by definition; and none if a part of the critical path
    /// may be missing.
    pub fn telling(&self) -> impl Iterator<Item = Point> {
        self.points.iter().copied().filter(move |point| self.is_whole && point.workers > 1)
    }
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let of_input = |(app, size): &(String, String)| summarize(record, app, size);
        let inputs: Vec<InputSummary> = record.plan.inputs.iter().filter_map(of_input).collect();
        let fit_of = |is_wanted: fn(&str) -> bool| {
            let wanted = inputs.iter().filter(|input| is_wanted(&input.app));
            let at = |point: Point| (point.normalized, point.utilization);
            let of_input = |input: &InputSummary| input.telling().map(at).collect();
            let points: Vec<Vec<fit::At>> =
                wanted.map(of_input).filter(|points: &Vec<_>| !points.is_empty()).collect();
            fit::fit(&points)
        };
        let fits = [
            (KNARY, fit_of(|app| app == KNARY)),
            ("the other applications", fit_of(|app| app != KNARY)),
            ("all", fit_of(|_| true)),
        ];
        Summary { capacity: record.machine.capacity(), inputs, fits }
    }

    /// The points that lie under the curve of [`TARGET`], and all that tell anything.
    pub fn under_target(&self) -> (Vec<(&InputSummary, Point)>, usize) {
        let all = || {
            self.inputs.iter().flat_map(|input| input.telling().map(move |point| (input, point)))
        };
        let is_under = |point: &Point| {
            point.utilization < fit::utilization(TARGET.0, TARGET.1, point.normalized)
        };
        (all().filter(|(_, point)| is_under(point)).collect(), all().count())
    }
}

fn summarize(record: &Record, app: &str, size: &str) -> Option<InputSummary> {
    let samples =
        || record.samples.iter().filter(move |sample| sample.app == app && sample.size == size);
    let time = |workers: usize| {
        let timed = samples().filter(|s| s.metered.is_none() && s.workers == workers);
        median(timed.map(|sample| sample.seconds).collect())
    };
    let metered = |of: fn(&Metered) -> f64| {
        median(samples().filter_map(|sample| sample.metered.as_ref().map(of)).collect())
    };
    let (work, critical_path) = (time(1)?, metered(|metered| metered.critical_path)?);
    let metered_work = metered(|metered| metered.work)?;
    let point = |&workers: &usize| {
        let processors = record.machine.granted(workers);
        Some(Point {
            workers,
            normalized: workers as f64 * critical_path / metered_work,
            utilization: work / (processors * time(workers)?),
        })
    };
    Some(InputSummary {
        app: app.to_owned(),
        size: size.to_owned(),
        work,
        critical_path,
        metered: metered_work / work,
        is_whole: samples().all(|sample| sample.metered.is_none_or(|m| m.uncarried == 0)),
        points: record.plan.workers.iter().filter_map(point).collect(),
    })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let number = values.len();
    (number > 0).then(|| (values[(number - 1) / 2] + values[number / 2]) / 2.0)
}
