//! Medians, and what the number that nobody chose takes over the best one.

use super::once::{Subject, TURNKEY};
use super::record::{Measurement, Phase, Reading, Record};
use crate::experiments::cliff::summary::Times;

/// The summary of a record. What was never measured is left out.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Each application, alone and beside a cycler.
    pub apps: Vec<AppSummary>,
    /// The phases, by the number of workers.
    pub phases: Vec<(usize, Vec<Phase>)>,
    /// Each quota, with each number of workers.
    pub quotas: Vec<QuotaSummary>,
    /// The move.
    pub moved: Option<MovedSummary>,
}

/// An application in one setting.
#[derive(Debug, Clone)]
pub struct AppSummary {
    /// Its name.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// Whether it ran beside a cycler.
    pub beside: bool,
    /// With the number that nobody chose.
    pub turnkey: Option<Times>,
    /// With each number that somebody might choose.
    pub fixed: Vec<(usize, Times)>,
}

/// Rounds under a quota.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuotaSummary {
    /// Of a processor.
    pub hundredths: u64,
    /// How many were chosen; none if nobody did.
    pub workers: usize,
    /// The medians of what was read, the worst of all lateness.
    pub rounds_per_s: f64,
    /// See [`Reading::Quota`].
    pub median_late_ms: f64,
    /// See [`Reading::Quota`].
    pub p99_late_ms: f64,
    /// The worst of all.
    pub worst_late_ms: f64,
    /// See [`Reading::Quota`].
    pub throttled_per_s: f64,
}

/// Moves between groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedSummary {
    /// How many workers may be awake without a quota.
    pub workers: usize,
    /// The longest time until one could, in seconds.
    pub lowered_after_s: f64,
    /// The longest time until all could.
    pub raised_after_s: f64,
    /// The median rate of rounds without a quota.
    pub free_rounds_per_s: f64,
    /// And with it.
    pub tight_rounds_per_s: f64,
}

impl AppSummary {
    /// The number of workers with which it takes the shortest time, and that time.
    pub fn best(&self) -> Option<(usize, Times)> {
        self.fixed.iter().copied().min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))
    }

    /// What it takes where nobody chose, relative to that.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.turnkey?.median / self.best()?.1.median)
    }
}

impl Summary {
    /// Summarizes `record`.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.plan;
        let mut summary = Summary::default();
        let numbers: Vec<usize> =
            std::iter::once(TURNKEY).chain(plan.workers.iter().copied()).collect();
        for (kind, size) in &plan.inputs {
            let Ok(subject) = Subject::find(kind, size) else { continue };
            let of = |workers: usize| -> Vec<&Reading> {
                let is_its = |found: &&Measurement| {
                    let cell = &found.cell;
                    (&cell.app, &cell.size, cell.workers) == (kind, size, workers)
                };
                record.measurements.iter().filter(is_its).map(|found| &found.reading).collect()
            };
            match subject {
                Subject::App { app, size, beside } => {
                    let times = |workers| times(&of(workers));
                    let fixed = |&workers: &usize| Some((workers, times(workers)?));
                    let fixed: Vec<_> = plan.workers.iter().filter_map(fixed).collect();
                    let turnkey = times(TURNKEY);
                    if turnkey.is_some() || !fixed.is_empty() {
                        summary.apps.push(AppSummary { app, size, beside, turnkey, fixed });
                    }
                }
                Subject::Phases => {
                    let phases = |&workers: &usize| Some((workers, phases(&of(workers))?));
                    summary.phases = numbers.iter().filter_map(phases).collect();
                }
                Subject::Quota { hundredths } => {
                    let quota = |&workers: &usize| quota(&of(workers), hundredths, workers);
                    summary.quotas.extend(numbers.iter().filter_map(quota));
                }
                Subject::Moved => summary.moved = moved(&of(TURNKEY)),
            }
        }
        summary
    }

    /// The largest of all ratios to the best chosen number, with its application; none where nothing was measured.
    pub fn worst(&self, beside: bool) -> Option<(&AppSummary, f64)> {
        let apps = self.apps.iter().filter(|app| app.beside == beside);
        let ratios = apps.filter_map(|app| Some((app, app.ratio()?)));
        ratios.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

fn times(readings: &[&Reading]) -> Option<Times> {
    let seconds = |reading: &&Reading| match reading {
        Reading::Time { seconds } => Some(*seconds),
        _ => None,
    };
    Times::of(readings.iter().filter_map(seconds).collect())
}

fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    Times::of(numbers.collect()).map(|times| times.median)
}

/// The medians of each phase.
fn phases(readings: &[&Reading]) -> Option<Vec<Phase>> {
    let all: Vec<&[Phase]> = readings
        .iter()
        .filter_map(|reading| match reading {
            Reading::Phases { phases, .. } => Some(&phases[..]),
            _ => None,
        })
        .collect();
    let of = |place: usize| {
        let median = |figure: fn(&Phase) -> f64| {
            median(all.iter().filter_map(|phases| phases.get(place)).map(figure))
        };
        Some(Phase {
            parallelism: all.first()?.get(place)?.parallelism,
            working: median(|phase| phase.working)?,
            awake: median(|phase| phase.awake)?,
            rounds_per_s: median(|phase| phase.rounds_per_s)?,
        })
    };
    (0..all.first()?.len()).map(of).collect()
}

fn quota(readings: &[&Reading], hundredths: u64, workers: usize) -> Option<QuotaSummary> {
    let all: Vec<[f64; 5]> = readings
        .iter()
        .filter_map(|reading| match **reading {
            Reading::Quota {
                rounds_per_s,
                median_late_ms,
                p99_late_ms,
                worst_late_ms,
                throttled_per_s,
            } => Some([rounds_per_s, median_late_ms, p99_late_ms, worst_late_ms, throttled_per_s]),
            _ => None,
        })
        .collect();
    let of = |place: usize| median(all.iter().map(|figures| figures[place]));
    Some(QuotaSummary {
        hundredths,
        workers,
        rounds_per_s: of(0)?,
        median_late_ms: of(1)?,
        p99_late_ms: of(2)?,
        worst_late_ms: all.iter().map(|figures| figures[3]).reduce(f64::max)?,
        throttled_per_s: of(4)?,
    })
}

fn moved(readings: &[&Reading]) -> Option<MovedSummary> {
    let all: Vec<(usize, [f64; 4])> = readings
        .iter()
        .filter_map(|reading| match **reading {
            Reading::Moved {
                workers,
                lowered_after_s,
                raised_after_s,
                free_rounds_per_s,
                tight_rounds_per_s,
            } => {
                let rates = [free_rounds_per_s, tight_rounds_per_s];
                Some((workers, [lowered_after_s, raised_after_s, rates[0], rates[1]]))
            }
            _ => None,
        })
        .collect();
    let most = |place: usize| all.iter().map(|(_, figures)| figures[place]).reduce(f64::max);
    let of = |place: usize| median(all.iter().map(|(_, figures)| figures[place]));
    Some(MovedSummary {
        workers: all.first()?.0,
        lowered_after_s: most(0)?,
        raised_after_s: most(1)?,
        free_rounds_per_s: of(2)?,
        tight_rounds_per_s: of(3)?,
    })
}
