//! Medians and ratios of what was measured.

use super::once::{Finding, Placement, Subject};
use super::plan::RUNTIMES;
use super::record::{Input, Record};
use crate::experiments::cliff::summary::Times;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject, in the order of the plan.
    pub groups: Vec<Group>,
    /// Each application, in the order of the plan.
    pub apps: Vec<Ignorant>,
}

/// An application that knows nothing of places.
#[derive(Debug, Clone, PartialEq)]
pub struct Ignorant {
    /// The application, with its size.
    pub input: Input,
    /// Seconds without places.
    pub without: Times,
    /// Seconds with them.
    pub with: Times,
}

impl Ignorant {
    /// The median with places over that without.
    pub fn ratio(&self) -> f64 {
        self.with.median / self.without.median
    }
}

/// What the placements made of a subject.
#[derive(Debug, Clone)]
pub struct Group {
    /// The subject.
    pub subject: Subject,
    /// Each placement that was measured.
    pub placements: Vec<Figure>,
}

/// What a placement made of a subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The placement, by name.
    pub placement: String,
    /// Seconds.
    pub time: Times,
    /// The median over that of the ignorant placement.
    pub of_ignorant: Option<f64>,
    /// The share of tasks that were taken out of a place, on average.
    pub out_of_place: f64,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let inputs = record.header.plan.inputs.iter();
        let apps = record.header.plan.apps.iter();
        Summary {
            groups: inputs.filter_map(|input| group(record, input)).collect(),
            apps: apps.filter_map(|app| ignorant(record, app)).collect(),
        }
    }

    /// What places make of the time of all applications: the geometric mean of the ratios. `None` if none was measured.
    pub fn of_apps(&self) -> Option<f64> {
        let logarithms: Vec<f64> = self.apps.iter().map(|app| app.ratio().ln()).collect();
        let number = logarithms.len() as f64;
        (number > 0.0).then(|| (logarithms.iter().sum::<f64>() / number).exp())
    }
}

impl Group {
    /// What `placement` made of the subject.
    pub fn figure(&self, placement: Placement) -> Option<&Figure> {
        self.placements.iter().find(|figure| figure.placement == placement.name())
    }

    /// How many times faster the best placement was than the ignorant one.
    pub fn gain(&self) -> Option<f64> {
        let median = |placement| self.figure(placement).map(|figure| figure.time.median);
        Some(median(Placement::Ignorant)? / median(Placement::Best)?)
    }
}

fn group(record: &Record, input: &Input) -> Option<Group> {
    let subject = input.subject().ok()?;
    let names = record.header.plan.placements.iter();
    let figures = names.filter_map(|name| figure(record, input, name));
    let mut group = Group { subject, placements: figures.collect() };
    let ignorant = group.figure(Placement::Ignorant).map(|figure| figure.time.median);
    for figure in &mut group.placements {
        figure.of_ignorant = ignorant.map(|ignorant| figure.time.median / ignorant);
    }
    (!group.placements.is_empty()).then_some(group)
}

fn ignorant(record: &Record, input: &Input) -> Option<Ignorant> {
    let time = |runtime| times(&found(record, input, runtime));
    let [without, with] = RUNTIMES.map(time);
    Some(Ignorant { input: input.clone(), without: without?, with: with? })
}

fn found(record: &Record, input: &Input, placement: &str) -> Vec<Finding> {
    let cell = record.header.plan.cell(input, placement);
    let of_it = record.measurements.iter().filter(|found| found.cell == cell);
    of_it.map(|found| found.finding).collect()
}

fn times(found: &[Finding]) -> Option<Times> {
    Times::of(found.iter().map(|finding| finding.seconds).collect())
}

fn figure(record: &Record, input: &Input, placement: &str) -> Option<Figure> {
    let found = found(record, input, placement);
    let time = times(&found)?;
    let tasks: u64 = found.iter().map(|finding| finding.tasks).sum();
    let out: u64 = found.iter().map(|finding| finding.out_of_place).sum();
    let out_of_place = if tasks == 0 { 0.0 } else { out as f64 / tasks as f64 };
    Some(Figure { placement: placement.to_owned(), time, of_ignorant: None, out_of_place })
}
