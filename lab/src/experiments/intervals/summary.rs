//! Medians and ratios of what was measured.

use super::cost::{Cost, number};
use super::plan::{FORK_JOIN, INTERVALS};
use super::record::{Reading, Record};
use crate::experiments::cliff;
use crate::experiments::cliff::summary::InputSummary;
use crate::experiments::times::Times;
use crate::record::Cell;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The applications.
    pub times: cliff::summary::Summary,
    /// What an interval costs.
    pub costs: Vec<Figure>,
}

/// What an interval of a runtime costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The runtime.
    pub runtime: String,
    /// What is counted.
    pub about: &'static str,
    /// In which unit.
    pub unit: &'static str,
    /// The figures.
    pub each: Times,
}

/// Fork and join over the graph of intervals, at one number of workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// P.
    pub workers: usize,
    /// The median time of fork and join over that of the graph: above 1, the graph is faster.
    pub ratio: f64,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let times = cliff::summary::Summary::of(&record.as_cliff());
        let runtimes = &record.header.plan.times.runtimes;
        let costs = Cost::ALL.into_iter().flat_map(|cost| {
            runtimes.iter().filter_map(move |runtime| {
                let each = Times::of(each(record, cost, runtime).collect())?;
                let (about, unit) = (cost.about(), cost.unit());
                Some(Figure { runtime: runtime.clone(), about, unit, each })
            })
        });
        Summary { times, costs: costs.collect() }
    }
}

/// Nanoseconds or bytes for each interval.
fn each(record: &Record, cost: Cost, runtime: &str) -> impl Iterator<Item = f64> {
    let is_it = move |cell: &Cell| cell.app == cost.name() && cell.runtime == runtime;
    let found = record.measurements.iter().filter(move |found| is_it(&found.cell));
    found.filter_map(|found| {
        let number = number(&found.cell.size).ok()? as f64;
        Some(match found.reading {
            Reading::Time { seconds } => seconds * 1e9 / number,
            Reading::Memory { bytes } => bytes as f64 / number,
        })
    })
}

/// What the graph of intervals gains, at each number of workers that was measured on both.
pub fn ratios(input: &InputSummary) -> Vec<Ratio> {
    let points = |name: &str| {
        let runtime = input.runtimes.iter().find(|found| found.runtime == name);
        runtime.map_or(&[][..], |runtime| &runtime.points)
    };
    let ours = points(INTERVALS).iter();
    let ratio = |ours: &cliff::summary::Point| {
        let other = points(FORK_JOIN).iter().find(|other| other.workers == ours.workers)?;
        let ratio = other.times.median / ours.times.median;
        Some(Ratio { workers: ours.workers, ratio })
    };
    ours.filter_map(ratio).collect()
}
