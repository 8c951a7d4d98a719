//! What the measurements say: times, their ratios, and what becomes of a program and of the busy threads beside it.

use super::plan::{MOST_EACH, MOST_MEAN, MOST_UNFAIRNESS, OURS, Setting, UPSTREAM, Workload};
use super::record::Record;
use crate::experiments::corun::metrics::{mean, median, slowdown, throughput, unfairness};
use crate::experiments::corun::record::{Run, Sample};
use crate::experiments::corun::unit::Unit;
use crate::experiments::times::Times;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Each setting.
    pub settings: Vec<SettingSummary>,
    /// The processors that others used meanwhile: the mean, if it is worth a word.
    pub disturbance: Option<f64>,
}

/// What was measured in a setting.
#[derive(Debug, Clone)]
pub struct SettingSummary {
    /// The setting.
    pub setting: Setting,
    /// What it is.
    pub title: String,
    /// Each workload.
    pub workloads: Vec<WorkloadSummary>,
}

/// What was measured of a workload in a setting.
#[derive(Debug, Clone)]
pub struct WorkloadSummary {
    /// The workload.
    pub workload: Workload,
    /// By runtime.
    pub runtimes: Vec<(String, Found)>,
    /// Locksley's time over rayon's, if both were measured.
    pub ratio: Option<Times>,
}

/// What was measured of a workload on a runtime.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The times of all processes, each of which is the mean of its computations.
    pub times: Times,
    /// What became of it and of the busy threads beside it, if there were any.
    pub balance: Option<Balance>,
}

/// What became of a program and of `loop` beside it, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// `Tc/Ts - 1`, the mean of all runs.
    pub slowdowns: [f64; 2],
    /// The mean of the unfairness of all runs; 1 is a difference of 100 percentage points.
    pub unfairness: f64,
    /// That of the worst run.
    pub worst: f64,
    /// The weighted speedup: the mean of all runs.
    pub throughput: f64,
    /// The processors that each had on average, if the system tells.
    pub processors: [Option<f64>; 2],
}

/// Others are worth a warning from this many processors on.
const DISTURBANCE: f64 = 0.1;

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.common.plan;
        let settings = plan.settings.iter().map(|&setting| SettingSummary {
            setting,
            title: setting.title(plan.processors),
            workloads: plan
                .workloads
                .iter()
                .map(|workload| of_workload(record, workload, setting))
                .filter(|found| !found.runtimes.is_empty())
                .collect(),
        });
        let seen: Vec<f64> =
            record.samples.iter().filter_map(|sample| sample.disturbance).collect();
        Summary {
            settings: settings.filter(|found| !found.workloads.is_empty()).collect(),
            disturbance: mean(&seen).filter(|&seen| seen > DISTURBANCE),
        }
    }

    /// What was measured in a setting.
    pub fn on(&self, setting: Setting) -> Option<&SettingSummary> {
        self.settings.iter().find(|found| found.setting == setting)
    }
}

impl SettingSummary {
    /// The geometric mean of the ratios.
    pub fn mean_ratio(&self) -> Option<f64> {
        let ratios = self.workloads.iter().filter_map(|found| found.ratio);
        let logarithms: Vec<f64> = ratios.map(|ratio| ratio.median.ln()).collect();
        mean(&logarithms).map(f64::exp)
    }

    /// Whether the ratios are as wanted.
    pub fn is_reached(&self) -> Option<bool> {
        let each_is = || self.workloads.iter().all(|found| !self.is_too_slow(found));
        self.mean_ratio().map(|mean| mean <= MOST_MEAN && each_is())
    }

    /// Whether a workload's ratio is above what is wanted of each.
    pub fn is_too_slow(&self, found: &WorkloadSummary) -> bool {
        self.setting == Setting::Alone && found.ratio.is_some_and(|ratio| ratio.median > MOST_EACH)
    }

    /// The mean of the workloads' unfairness on a runtime, and the worst run of any.
    pub fn unfairness(&self, runtime: &str) -> Option<(f64, f64)> {
        let balances = || {
            let found = self.workloads.iter().filter_map(|found| found.on(runtime));
            found.filter_map(|found| found.balance.as_ref())
        };
        let all: Vec<f64> = balances().map(|balance| balance.unfairness).collect();
        mean(&all).zip(balances().map(|balance| balance.worst).reduce(f64::max))
    }

    /// Whether Locksley's unfairness is as wanted.
    pub fn is_fair(&self) -> Option<bool> {
        self.unfairness(OURS).map(|(mean, _)| 100.0 * mean <= MOST_UNFAIRNESS)
    }
}

impl WorkloadSummary {
    /// What was measured on a runtime.
    pub fn on(&self, runtime: &str) -> Option<&Found> {
        self.runtimes.iter().find(|(name, _)| name == runtime).map(|(_, found)| found)
    }
}

fn of_workload(record: &Record, workload: &Workload, setting: Setting) -> WorkloadSummary {
    let plan = &record.header.common.plan;
    let samples = |runtime: &str| samples_of(record, &plan.units(workload, setting, runtime));
    let runtimes = plan.runtimes.iter().filter_map(|runtime| {
        let times = Times::of(samples(runtime).iter().filter_map(|one| time(one)).collect())?;
        let balance = match setting {
            Setting::Alone | Setting::Oversubscribed => None,
            Setting::Beside => balance(record, workload, runtime),
        };
        Some((runtime.clone(), Found { times, balance }))
    });
    // Processes that ran one after the other are compared: what changes meanwhile hits both.
    let (theirs, ours) = (samples(UPSTREAM), samples(OURS));
    let ratios = ours.iter().filter_map(|ours| {
        let theirs = theirs.iter().find(|theirs| theirs.repeat == ours.repeat)?;
        Some(time(ours)? / time(theirs)?)
    });
    let ratio = Times::of(ratios.collect());
    WorkloadSummary { workload: workload.clone(), runtimes: runtimes.collect(), ratio }
}

fn samples_of<'a>(record: &'a Record, units: &[Unit]) -> Vec<&'a Sample> {
    record.samples.iter().filter(|sample| sample.units == units).collect()
}

/// The time of a computation of a sample's workload.
fn time(sample: &Sample) -> Option<f64> {
    sample.runs.first().map(|run| 1.0 / run.rate)
}

/// The median rate of a program that is alone.
fn rate_alone(record: &Record, unit: &Unit) -> Option<f64> {
    let samples = samples_of(record, std::slice::from_ref(unit));
    let rates = samples.iter().filter_map(|sample| sample.runs.first()).map(|run| run.rate);
    median(&rates.collect::<Vec<f64>>())
}

fn balance(record: &Record, workload: &Workload, runtime: &str) -> Option<Balance> {
    let plan = &record.header.common.plan;
    let on = |runtime: &str| plan.units(workload, Setting::Alone, runtime).remove(0);
    let alone = [rate_alone(record, &on(runtime))?, rate_alone(record, &plan.neighbour())?];
    // The best time alone on either is the common baseline.
    let rates = plan.runtimes.iter().filter_map(|runtime| rate_alone(record, &on(runtime)));
    let best = [rates.fold(alone[0], f64::max), alone[1]];
    let samples = samples_of(record, &plan.units(workload, Setting::Beside, runtime));
    let pairs: Vec<[&Run; 2]> = samples
        .iter()
        .filter_map(|sample| sample.runs.first().zip(sample.runs.get(1)))
        .map(|(program, busy)| [program, busy])
        .collect();
    let slowdowns: Vec<[f64; 2]> = pairs
        .iter()
        .map(|pair| [0, 1].map(|place| slowdown(alone[place], pair[place].rate)))
        .collect();
    let unfair: Vec<f64> = slowdowns.iter().map(|both| unfairness(both)).collect();
    let speedups: Vec<f64> = pairs
        .iter()
        .map(|pair| throughput([0, 1].map(|place| (pair[place].rate, best[place]))))
        .collect();
    let each = |place: usize| mean(&slowdowns.iter().map(|both| both[place]).collect::<Vec<_>>());
    Some(Balance {
        slowdowns: [each(0)?, each(1)?],
        unfairness: mean(&unfair)?,
        worst: unfair.iter().copied().reduce(f64::max)?,
        throughput: mean(&speedups)?,
        processors: [0, 1].map(|place| processors(pairs.iter().map(|pair| pair[place]))),
    })
}

/// The processors that a program had, in the mean of its runs.
fn processors<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<f64> {
    let each = |run: &Run| Some(run.stretch.processor_seconds? / run.stretch.seconds());
    let all: Option<Vec<f64>> = runs.map(each).collect();
    all.and_then(|all| mean(&all))
}
