//! Medians, and what the pool to which nobody says a number takes over the others.

use super::contest::{self, Contest, Rotation};
use super::contestant::Contestant;
use super::once::{Setting, Subject};
use super::plan::TARGET;
use super::record::{Measurement, Phase, Reading, Record, Throttling};
use crate::experiments::estimate::{Estimate, Verdict};
use crate::experiments::times::Times;

/// The summary of a record. What was never measured is left out.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Each application, in each setting.
    pub apps: Vec<AppSummary>,
    /// The phases, by the number of workers.
    pub phases: Vec<(Contestant, Vec<Phase>)>,
    /// Each quota, with each contestant.
    pub quotas: Vec<QuotaSummary>,
    /// Rounds under each of these quotas: the time of one.
    pub rounds: Vec<(u64, Contest)>,
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
    /// What a computation takes with each contestant, in seconds.
    pub times: Vec<(Contestant, Times)>,
    /// Under a quota: how that was kept with each of them. Medians.
    pub throttling: Vec<(Contestant, Throttling)>,
    /// What the pool to which nobody says a number takes over the others.
    pub contest: Contest,
}

/// Rounds under a quota.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaSummary {
    /// Of a processor.
    pub hundredths: u64,
    /// With whom.
    pub contestant: Contestant,
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
    /// What a computation takes with that one.
    pub fn time(&self, of: &Contestant) -> Option<Times> {
        self.times.iter().find(|(contestant, _)| contestant == of).map(|(_, times)| *times)
    }

    /// What it takes over the best number that somebody could have chosen.
    pub fn ratio(&self) -> Option<Estimate> {
        self.contest.best.as_ref().map(|best| best.ratio)
    }

    /// Whether that is as little as it should be.
    pub fn verdict(&self) -> Option<Verdict> {
        self.ratio().map(|ratio| Verdict::of(ratio, TARGET))
    }
}

impl Summary {
    /// Summarizes `record`.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.plan;
        let mut summary = Summary::default();
        for (kind, size) in &plan.inputs {
            let Ok(subject) = Subject::find(kind, size) else { continue };
            let is_its = |found: &&Measurement| (&found.cell.app, &found.cell.size) == (kind, size);
            let found: Vec<&Measurement> = record.measurements.iter().filter(is_its).collect();
            let all = plan.contestants(&subject);
            let of = |contestant: &Contestant| -> Vec<&Reading> {
                let is_of = |found: &&&Measurement| {
                    let Contestant { runtime, workers } = contestant;
                    (&found.cell.runtime, found.cell.workers) == (runtime, *workers)
                };
                found.iter().filter(is_of).map(|found| &found.reading).collect()
            };
            for number in all.iter().map(|one| of(one).len()).filter(|&number| number > 0) {
                let (least, most) = summary.readings;
                summary.readings =
                    (if least == 0 { number } else { least.min(number) }, most.max(number));
            }
            let (rotations, kept) = (rotations(&found), kept(&found));
            let contest = Contest::of(&rotations, all.get(1..).unwrap_or_default());
            match subject {
                Subject::App { app, size, setting } => {
                    let times = |one: &Contestant| Some((one.clone(), times(&rotations, one)?));
                    let times: Vec<_> = all.iter().filter_map(times).collect();
                    let kept = |one: &Contestant| Some((one.clone(), throttling(&kept, one)?));
                    let throttling = all.iter().filter_map(kept).collect();
                    if !times.is_empty() {
                        summary.apps.push(AppSummary {
                            app,
                            size,
                            setting,
                            times,
                            throttling,
                            contest,
                        });
                    }
                }
                Subject::Phases => {
                    let phases = |one: &Contestant| Some((one.clone(), phases(&of(one))?));
                    summary.phases = all.iter().filter_map(phases).collect();
                }
                Subject::Quota { hundredths } => {
                    let quota =
                        |one: &Contestant| quota(&of(one), hundredths, one, throttling(&kept, one));
                    summary.quotas.extend(all.iter().filter_map(quota));
                    summary.rounds.push((hundredths, contest));
                }
                Subject::Moved => summary.moved = moved(&of(&Contestant::turnkey())),
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

    /// What turnkey takes for a round over that one.
    pub fn over(&self, quota: &QuotaSummary) -> Option<Estimate> {
        let its = self.rounds.iter().find(|(hundredths, _)| *hundredths == quota.hundredths);
        its.and_then(|(_, contest)| contest.ratio(&quota.contestant))
    }

    /// The applications in that setting.
    pub fn of_setting(&self, setting: Setting) -> impl Iterator<Item = &AppSummary> {
        self.apps.iter().filter(move |app| app.setting == setting)
    }

    /// The geometric mean of what they take over the best number, with how many they are.
    pub fn mean(&self, setting: Setting) -> Option<(usize, Estimate)> {
        let bests = self.of_setting(setting).filter_map(|app| app.contest.best.as_ref());
        let bests: Vec<_> = bests.collect();
        Some((bests.len(), contest::mean(&bests)?))
    }

    /// Of how many of them each verdict is true: met, missed, not decided.
    pub fn verdicts(&self, setting: Setting) -> [usize; 3] {
        let all: Vec<Verdict> = self.of_setting(setting).filter_map(AppSummary::verdict).collect();
        [Verdict::Met, Verdict::Missed, Verdict::Undecided]
            .map(|verdict| all.iter().filter(|&&its| its == verdict).count())
    }
}

/// What each takes, by rotation. Rounds count by the time of one.
fn rotations(found: &[&Measurement]) -> Vec<Rotation> {
    let mut rotations: Vec<Rotation> = Vec::new();
    for found in found {
        let of = || Contestant::on(&found.cell.runtime, found.cell.workers);
        let seconds = match &found.reading {
            Reading::Turns { turns } => {
                turns.iter().map(|turn| (turn.contestant.clone(), turn.seconds)).collect()
            }
            Reading::Time { seconds, .. } => vec![(of(), *seconds)],
            Reading::Quota { rounds_per_s, .. } => vec![(of(), rounds_per_s.recip())],
            Reading::Phases { .. } | Reading::Moved { .. } => continue,
        };
        match rotations.iter_mut().find(|rotation| rotation.number == found.repeat) {
            Some(rotation) => rotation.seconds.extend(seconds),
            None => rotations.push(Rotation { number: found.repeat, seconds }),
        }
    }
    rotations
}

fn times(rotations: &[Rotation], of: &Contestant) -> Option<Times> {
    let all = rotations.iter().flat_map(|rotation| &rotation.seconds);
    Times::of(all.filter(|(one, _)| one == of).map(|(_, seconds)| *seconds).collect())
}

fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    Times::of(numbers.collect()).map(|times| times.median)
}

/// How a quota was kept with each, by reading.
fn kept(found: &[&Measurement]) -> Vec<(Contestant, Throttling)> {
    let of = |found: &&Measurement| -> Vec<(Contestant, Throttling)> {
        let its = || Contestant::on(&found.cell.runtime, found.cell.workers);
        match &found.reading {
            Reading::Turns { turns } => turns
                .iter()
                .filter_map(|turn| Some((turn.contestant.clone(), turn.throttling?)))
                .collect(),
            Reading::Time { throttling, .. } => vec![(its(), *throttling)],
            Reading::Quota { throttling, .. } => {
                throttling.map(|it| (its(), it)).into_iter().collect()
            }
            Reading::Phases { .. } | Reading::Moved { .. } => Vec::new(),
        }
    };
    found.iter().flat_map(of).collect()
}

/// How the quota was kept with that one: medians.
fn throttling(kept: &[(Contestant, Throttling)], of: &Contestant) -> Option<Throttling> {
    let all: Vec<&Throttling> =
        kept.iter().filter(|(one, _)| one == of).map(|(_, kept)| kept).collect();
    let median = |figure: fn(&Throttling) -> f64| median(all.iter().copied().map(figure));
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

fn quota(
    readings: &[&Reading],
    hundredths: u64,
    contestant: &Contestant,
    throttling: Option<Throttling>,
) -> Option<QuotaSummary> {
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
        contestant: contestant.clone(),
        rounds_per_s: of(0)?,
        median_late_ms: of(1)?,
        p99_late_ms: of(2)?,
        worst_late_ms: all.iter().map(|figures| figures[3]).reduce(f64::max)?,
        throttled_per_s: of(4)?,
        throttling,
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
