//! Medians, and what the number that nobody chose takes over the best one.

use super::once::{Setting, Subject, TURNKEY};
use super::record::{Measurement, Phase, Reading, Record, Throttling, Turn};
use crate::experiments::cliff::summary::Times;

/// The summary of a record. What was never measured is left out.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Each application, in each setting.
    pub apps: Vec<AppSummary>,
    /// The phases, by the number of workers.
    pub phases: Vec<(usize, Vec<Phase>)>,
    /// Each quota, with each number of workers.
    pub quotas: Vec<QuotaSummary>,
    /// The move.
    pub moved: Option<MovedSummary>,
    /// Of how many readings each figure is: of so many at least, and at most.
    pub readings: (usize, usize),
}

/// An application in one setting.
#[derive(Debug, Clone)]
pub struct AppSummary {
    /// Its name.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// What else there was.
    pub setting: Setting,
    /// With the number that nobody chose.
    pub turnkey: Option<Times>,
    /// With each number that somebody might choose.
    pub fixed: Vec<(usize, Times)>,
    /// Under a quota: how that was kept, with the number that nobody chose and with each other. Medians.
    pub throttling: Vec<(usize, Throttling)>,
    /// Where all took turns: what they took in each of these measurements.
    pub turns: Vec<Vec<Turn>>,
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
    /// How the quota was kept, where that was read. Medians.
    pub throttling: Option<Throttling>,
    /// How long a round took, where that was read: as [`Reading::Quota`] has it, the longest of all.
    pub round_ms: Option<[f64; 3]>,
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

    /// What it takes where nobody chose, relative to that: the median of all measurements where these took turns.
    pub fn ratio(&self) -> Option<f64> {
        let (best, times) = self.best()?;
        let ratio = |turns: &Vec<Turn>| {
            let of = |workers| Some(turns.iter().find(|turn| turn.workers == workers)?.seconds);
            Some(of(TURNKEY)? / of(best)?)
        };
        let in_turn = median(self.turns.iter().filter_map(ratio));
        in_turn.or_else(|| Some(self.turnkey?.median / times.median))
    }

    /// Under a quota: the same, relative to the mean of those that had more workers than that. They keep as many awake, so they are one
    /// configuration, of whose medians the best is too small.
    pub fn over_equals(&self) -> Option<f64> {
        let Setting::Under(hundredths) = self.setting else { return None };
        let is_equal = |(workers, _): &&(usize, Times)| *workers as u64 * 100 > hundredths;
        let equals = self.fixed.iter().filter(is_equal).map(|(_, times)| times.median);
        let (sum, number) = equals.fold((0.0, 0), |(sum, number), time| (sum + time, number + 1));
        (number > 0).then_some(self.turnkey?.median * f64::from(number) / sum)
    }

    /// Of how many readings these are.
    pub fn readings(&self) -> usize {
        let of = |times: Option<Times>| times.map_or(0, |times| times.number);
        let apart = of(self.turnkey).min(of(self.best().map(|(_, times)| times)));
        if self.turns.is_empty() { apart } else { self.turns.len() }
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
            for number in numbers.iter().map(|&workers| of(workers).len()).filter(|&it| it > 0) {
                let (least, most) = summary.readings;
                summary.readings =
                    (if least == 0 { number } else { least.min(number) }, most.max(number));
            }
            match subject {
                Subject::App { app, size, setting } => {
                    let turns: Vec<Vec<Turn>> = turns(&of(TURNKEY));
                    let kept = |&workers: &usize| Some((workers, throttling(&of(workers))?));
                    let throttling = numbers.iter().filter_map(kept).collect();
                    let times = |workers| times(&of(workers), &turns, workers);
                    let fixed = |&workers: &usize| Some((workers, times(workers)?));
                    let fixed: Vec<_> = plan.workers.iter().filter_map(fixed).collect();
                    let turnkey = times(TURNKEY);
                    if turnkey.is_some() || !fixed.is_empty() {
                        summary.apps.push(AppSummary {
                            app,
                            size,
                            setting,
                            turnkey,
                            fixed,
                            throttling,
                            turns,
                        });
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

    /// The settings in which there are applications, in the order of the plan.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for app in &self.apps {
            if !settings.contains(&app.setting) {
                settings.push(app.setting);
            }
        }
        settings
    }

    /// The rounds under that quota with the number of workers that does the most of them.
    pub fn best_under(&self, hundredths: u64) -> Option<&QuotaSummary> {
        let is_fixed = |it: &&QuotaSummary| it.hundredths == hundredths && it.workers != TURNKEY;
        let all = self.quotas.iter().filter(is_fixed);
        all.max_by(|a, b| a.rounds_per_s.total_cmp(&b.rounds_per_s))
    }

    /// The largest of all ratios to the best chosen number, with its application; none where nothing was measured so often.
    pub fn worst(&self, setting: Setting, readings: usize) -> Option<(&AppSummary, f64)> {
        let is_its = |app: &&AppSummary| app.setting == setting && app.readings() >= readings;
        let apps = self.apps.iter().filter(is_its);
        let ratios = apps.filter_map(|app| Some((app, app.ratio()?)));
        ratios.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

/// Of so many workers: what was read of them alone, and in turns.
fn times(readings: &[&Reading], turns: &[Vec<Turn>], workers: usize) -> Option<Times> {
    let alone = readings.iter().filter_map(|reading| match reading {
        Reading::Time { seconds, .. } => Some(*seconds),
        _ => None,
    });
    let turns = turns.iter().flatten().filter(|turn| turn.workers == workers);
    Times::of(alone.chain(turns.map(|turn| turn.seconds)).collect())
}

fn turns(readings: &[&Reading]) -> Vec<Vec<Turn>> {
    let of = |reading: &&Reading| match reading {
        Reading::Turns { turns } => Some(turns.clone()),
        _ => None,
    };
    readings.iter().filter_map(of).collect()
}

fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    Times::of(numbers.collect()).map(|times| times.median)
}

/// How the quota was kept: medians.
fn throttling(readings: &[&Reading]) -> Option<Throttling> {
    let of = |reading: &&Reading| match **reading {
        Reading::Time { throttling, .. } | Reading::Quota { throttling, .. } => throttling,
        _ => None,
    };
    let all: Vec<Throttling> = readings.iter().filter_map(of).collect();
    let median = |figure: fn(&Throttling) -> f64| median(all.iter().map(figure));
    Some(Throttling {
        used_up_per_s: median(|it| it.used_up_per_s)?,
        share_of_periods: median(|it| it.share_of_periods)?,
        stopped: median(|it| it.stopped)?,
        worked: median(|it| it.worked)?,
    })
}

/// How long rounds took: medians, and the longest of all.
fn rounds(readings: &[&Reading]) -> Option<[f64; 3]> {
    let of = |reading: &&Reading| match **reading {
        Reading::Quota { round_ms, .. } => round_ms,
        _ => None,
    };
    let all: Vec<[f64; 3]> = readings.iter().filter_map(of).collect();
    let median = |place: usize| median(all.iter().map(|times| times[place]));
    Some([median(0)?, median(1)?, all.iter().map(|times| times[2]).reduce(f64::max)?])
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
                ..
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
        throttling: throttling(readings),
        round_ms: rounds(readings),
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
