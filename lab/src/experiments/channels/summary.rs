//! Medians and ratios of what was measured, and whether they are what is wanted.

use super::once::{Kind, Subject};
use super::plan::{OURS, WANTED};
use super::record::{Input, Record};
use crate::experiments::cliff::summary::Times;
use crate::experiments::reading::Reading;
use crate::experiments::wait::plan::TOKIO;

/// What the channel of an idle process holds: one number.
const BUFFER: f64 = size_of::<u64>() as f64;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject with each number of workers, in the order of the plan.
    pub groups: Vec<Group>,
    /// What is wanted of Locksley, and what it comes to.
    pub targets: Vec<Target>,
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
    /// For each message or hop: nanoseconds; of an idle process: bytes.
    pub each: Times,
    /// The median over tokio's with as many workers.
    pub of_tokio: Option<f64>,
    /// Of one channel: the median share of its messages that were received on another thread than they were sent on.
    pub apart: Option<f64>,
    /// Of an idle process.
    pub idle: Option<Idle>,
}

/// The memory of an idle process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idle {
    /// The size of its own future, in bytes; 0 where it has a stack instead.
    pub future: f64,
    /// What it takes beyond that and beyond what its channel holds, in bytes: the median.
    pub beyond: f64,
}

/// Something that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// What, in words, with its unit.
    pub about: String,
    /// What it may be at most.
    pub most: f64,
    /// What it is.
    pub is: f64,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let inputs = record.header.plan.inputs.iter();
        let groups: Vec<Group> = inputs.filter_map(|input| group(record, input)).collect();
        let targets = groups.iter().filter_map(target).collect();
        Summary { groups, targets }
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

    /// Subject and number of workers, in words.
    pub fn title(&self) -> String {
        format!("{}, P = {}", self.subject.about(), self.workers)
    }
}

impl Target {
    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        self.is <= self.most
    }

    /// The same in a word.
    pub fn verdict(&self) -> &'static str {
        if self.is_reached() { "reached" } else { "missed" }
    }
}

fn target(group: &Group) -> Option<Target> {
    let (kind, most) = WANTED.into_iter().find(|(kind, _)| *kind == group.subject.kind)?;
    let figure = group.figure(OURS)?;
    let (is, unit) = match figure.idle {
        Some(idle) => {
            (idle.beyond, "bytes a process, beyond its future and what its channel holds")
        }
        None => (figure.each.median, group.subject.unit()),
    };
    debug_assert_eq!(kind == Kind::Idle, figure.idle.is_some());
    Some(Target { about: format!("{}: {unit}", group.title()), most, is })
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
    let idle = Times::of(futures)
        .map(|future| Idle { future: future.median, beyond: each.median - future.median - BUFFER });
    let apart = Times::of(shares).map(|shares| shares.median);
    Some(Figure { runtime: runtime.to_owned(), each, of_tokio: None, apart, idle })
}
