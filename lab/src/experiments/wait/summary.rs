//! Medians and ratios of what was measured.

use super::once::{Kind, Subject};
use super::plan::TOKIO;
use super::record::{Input, Record};
use crate::experiments::cliff::summary::Times;
use crate::experiments::reading::Reading;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject with each number of workers, in the order of the plan.
    pub groups: Vec<Group>,
}

/// What the runtimes made of a subject.
#[derive(Debug, Clone)]
pub struct Group {
    /// The subject.
    pub subject: Subject,
    /// The number of workers.
    pub workers: usize,
    /// Each runtime that was measured.
    pub runtimes: Vec<Figure>,
}

/// What a runtime made of a subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The runtime.
    pub runtime: String,
    /// For each task, round trip or thread: nanoseconds; of a waiting task: bytes.
    pub each: Times,
    /// The median over tokio's with as many workers.
    pub of_tokio: Option<f64>,
    /// Of a ping-pong: the median share of rounds in which the players were on different threads.
    pub apart: Option<f64>,
    /// Of a waiting task.
    pub waiting: Option<Waiting>,
}

/// The memory of a waiting task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// The size of its own future, in bytes.
    pub future: f64,
    /// What it takes beyond that, in bytes: the median.
    pub beyond: f64,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let inputs = record.header.plan.inputs.iter();
        Summary { groups: inputs.filter_map(|input| group(record, input)).collect() }
    }

    /// The groups of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| group.subject.kind == kind)
    }
}

impl Group {
    /// What `runtime` made of the subject.
    pub fn figure(&self, runtime: &str) -> Option<&Figure> {
        self.runtimes.iter().find(|figure| figure.runtime == runtime)
    }
}

fn group(record: &Record, input: &Input) -> Option<Group> {
    let subject = input.subject().ok()?;
    let names = record.header.plan.runtimes.iter().map(|runtime| runtime.name.as_str());
    let mut runtimes: Vec<Figure> =
        names.filter_map(|name| figure(record, input, subject, name)).collect();
    let tokio =
        runtimes.iter().find(|figure| figure.runtime == TOKIO).map(|found| found.each.median);
    for figure in &mut runtimes {
        figure.of_tokio = tokio.map(|tokio| figure.each.median / tokio);
    }
    (!runtimes.is_empty()).then_some(Group { subject, workers: input.workers, runtimes })
}

fn figure(record: &Record, input: &Input, subject: Subject, runtime: &str) -> Option<Figure> {
    let cell = input.on(runtime);
    let count = subject.count() as f64;
    let (mut each, mut shares, mut futures) = (Vec::new(), Vec::new(), Vec::new());
    for found in record.measurements.iter().filter(|found| found.cell == cell) {
        match found.reading {
            Reading::Time { seconds, apart } => {
                each.push(seconds / count * 1e9);
                shares.extend(apart);
            }
            Reading::Memory { bytes, future } => {
                each.push(bytes as f64 / count);
                futures.push(future as f64);
            }
        }
    }
    let each = Times::of(each)?;
    // One build has one size of future; others would be another build's, and that another record.
    let waiting = Times::of(futures)
        .map(|future| Waiting { future: future.median, beyond: each.median - future.median });
    let apart = Times::of(shares).map(|shares| shares.median);
    Some(Figure { runtime: runtime.to_owned(), each, of_tokio: None, apart, waiting })
}
