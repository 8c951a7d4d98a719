//! Medians and ratios of what was measured.

use super::once::{Counts, Finding, Placement, Subject};
use super::plan::RUNTIMES;
use super::record::{Input, Record};
use crate::experiments::times::Times;
use crate::record::Cell;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject, in the order of the plan: with all workers, and then with fewer.
    pub groups: Vec<Group>,
    /// Each application, in the order of the plan: with all workers, and then with fewer.
    pub apps: Vec<Ignorant>,
    /// How many workers were to be bound to their places and were not, at the most.
    pub unbound: usize,
}

/// An application that knows nothing of places.
#[derive(Debug, Clone, PartialEq)]
pub struct Ignorant {
    /// The application, with its size.
    pub input: Input,
    /// The number of workers.
    pub workers: usize,
    /// Seconds without places.
    pub without: Times,
    /// Seconds with them.
    pub with: Times,
    /// What was measured with places over what was measured without in the same rotation: the median of these ratios. (What disturbs a
    /// machine for longer than a moment disturbs both.)
    pub ratio: f64,
}

/// What the placements made of a subject.
#[derive(Debug, Clone)]
pub struct Group {
    /// The subject.
    pub subject: Subject,
    /// The number of workers.
    pub workers: usize,
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
    /// Hits and misses of the caches that divide the places, in the median, where they were counted.
    pub counts: Option<Counts>,
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.plan;
        let groups =
            |workers| plan.inputs.iter().filter_map(move |input| group(record, input, workers));
        let apps = |workers| plan.apps.iter().filter_map(move |app| ignorant(record, app, workers));
        let unbound = record.measurements.iter().map(|found| found.finding.unbound);
        Summary {
            groups: plan.numbers().flat_map(groups).collect(),
            apps: plan.numbers().flat_map(apps).collect(),
            unbound: unbound.max().unwrap_or(0),
        }
    }

    /// Whether anything was counted of the caches.
    pub fn has_counts(&self) -> bool {
        let mut figures = self.groups.iter().flat_map(|group| &group.placements);
        figures.any(|figure| figure.counts.is_some())
    }

    /// What places make of the time of all applications with so many workers: the geometric mean of the ratios. `None` if none was
    /// measured.
    pub fn of_apps(&self, workers: usize) -> Option<f64> {
        let apps = self.apps.iter().filter(|app| app.workers == workers);
        let logarithms: Vec<f64> = apps.map(|app| app.ratio.ln()).collect();
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

fn group(record: &Record, input: &Input, workers: usize) -> Option<Group> {
    let subject = input.subject().ok()?;
    let names = record.header.plan.placements.iter();
    let figures = names.filter_map(|name| figure(record, &input.cell(name, workers)));
    let mut group = Group { subject, workers, placements: figures.collect() };
    let ignorant = group.figure(Placement::Ignorant).map(|figure| figure.time.median);
    for figure in &mut group.placements {
        figure.of_ignorant = ignorant.map(|ignorant| figure.time.median / ignorant);
    }
    (!group.placements.is_empty()).then_some(group)
}

fn ignorant(record: &Record, input: &Input, workers: usize) -> Option<Ignorant> {
    let time = |runtime| times(&found(record, &input.cell(runtime, workers)));
    let [without, with] = RUNTIMES.map(time);
    let ratio = median_of_pairs(record, RUNTIMES.map(|runtime| input.cell(runtime, workers)))?;
    Some(Ignorant { input: input.clone(), workers, without: without?, with: with?, ratio })
}

/// The median of the ratios of what was measured in the same rotations, of the second cell over the first.
fn median_of_pairs(record: &Record, [base, other]: [Cell; 2]) -> Option<f64> {
    let of_cell = |cell| record.measurements.iter().filter(move |found| found.cell == cell);
    let ratios = of_cell(base).filter_map(|first| {
        let mut others = of_cell(other.clone());
        let second = others.find(|second| second.repeat == first.repeat)?;
        Some(second.finding.seconds / first.finding.seconds)
    });
    Some(Times::of(ratios.collect())?.median)
}

fn found(record: &Record, cell: &Cell) -> Vec<Finding> {
    let of_it = record.measurements.iter().filter(|found| found.cell == *cell);
    of_it.map(|found| found.finding).collect()
}

fn times(found: &[Finding]) -> Option<Times> {
    Times::of(found.iter().map(|finding| finding.seconds).collect())
}

fn figure(record: &Record, cell: &Cell) -> Option<Figure> {
    let found = found(record, cell);
    let time = times(&found)?;
    let tasks: u64 = found.iter().map(|finding| finding.tasks).sum();
    let out: u64 = found.iter().map(|finding| finding.out_of_place).sum();
    let out_of_place = if tasks == 0 { 0.0 } else { out as f64 / tasks as f64 };
    let counts = counts(&found);
    Some(Figure { placement: cell.runtime.clone(), time, of_ignorant: None, out_of_place, counts })
}

/// The medians, if anything was counted.
fn counts(found: &[Finding]) -> Option<Counts> {
    let median = |of: fn(Counts) -> u64| {
        let mut all: Vec<u64> = found.iter().filter_map(|finding| finding.counts).map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    };
    Some(Counts { hits: median(|it| it.hits)?, misses: median(|it| it.misses)? })
}
