//! What the profiler costs, by the medians of pairs, and whether that is within what is wanted.

use super::once::{Kind, Subject};
use super::plan::MOST_WITH_APPS;
use super::record::Record;
use crate::experiments::bootstrap::Resampled;
use crate::experiments::estimate::{Estimate, Verdict};
use crate::experiments::times::Times;
use crate::random::Random;
use crate::record::Cell;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each subject with each number of workers, in the order of the plan. What was never measured is left out.
    pub figures: Vec<Figure>,
    /// All applications, for each number of workers.
    pub means: Vec<Mean>,
}

/// What the profiler costs a subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The subject.
    pub subject: Subject,
    /// The number of workers.
    pub workers: usize,
    /// The median without a profiler, in the [unit](Kind::unit) of the subject's kind.
    pub off: f64,
    /// The median with it.
    pub on: f64,
    /// How many pairs there are.
    pub pairs: usize,
    /// What it costs: the median of all pairs' [costs](Subject::cost).
    pub cost: Estimate,
}

/// What the profiler costs the applications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The number of workers.
    pub workers: usize,
    /// How many applications.
    pub number: usize,
    /// The geometric mean of their ratios.
    pub cost: Estimate,
}

impl Figure {
    /// Whether it is as wanted; `None` where nobody said what is.
    pub fn verdict(&self) -> Option<Verdict> {
        self.subject.target().map(|target| Verdict::of(self.cost, target))
    }
}

impl Mean {
    /// Whether it is as wanted.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.cost, MOST_WITH_APPS)
    }
}

impl Summary {
    /// Summarizes `record`.
    pub fn of(record: &Record) -> Summary {
        // What is drawn for intervals is the same each time.
        let mut random = Random::new(record.header.plan.seed);
        let mut apps: Vec<(usize, Vec<Resampled>)> = Vec::new();
        let mut figures = Vec::new();
        for cell in &record.header.plan.cells {
            let Some((figure, resampled)) = figure(record, cell, &mut random) else { continue };
            if figure.subject.kind() == Kind::Apps {
                match apps.iter_mut().find(|(workers, _)| *workers == cell.workers) {
                    Some((_, all)) => all.push(resampled),
                    None => apps.push((cell.workers, vec![resampled])),
                }
            }
            figures.push(figure);
        }
        let mean = |(workers, all): (usize, Vec<Resampled>)| {
            let cost = Resampled::geometric_mean(&all)?.estimate();
            Some(Mean { workers, number: all.len(), cost })
        };
        Summary { figures, means: apps.into_iter().filter_map(mean).collect() }
    }

    /// The figures of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(move |figure| figure.subject.kind() == kind)
    }
}

fn figure(record: &Record, cell: &Cell, random: &mut Random) -> Option<(Figure, Resampled)> {
    let subject = Subject::find(&cell.app, &cell.size).ok()?;
    let its = record.measurements.iter().filter(|found| found.cell == *cell);
    let rotations: Vec<&[[u64; 2]]> = its.map(|found| &found.reading.nanos[..]).collect();
    let costs = |pairs: &&[[u64; 2]]| pairs.iter().map(|&pair| subject.cost(pair)).collect();
    let costs: Vec<Vec<f64>> = rotations.iter().map(costs).collect();
    let resampled = Resampled::median(&costs, random)?;
    let times = |place: usize| {
        let all = rotations.iter().flat_map(|pairs| pairs.iter());
        Times::of(all.map(|pair| subject.each(pair[place])).collect())
    };
    let (off, on) = (times(0)?, times(1)?);
    let figure = Figure {
        workers: cell.workers,
        off: off.median,
        on: on.median,
        pairs: off.number,
        cost: resampled.clone().estimate(),
        subject,
    };
    Some((figure, resampled))
}
