//! Speedups, rates of steal attempts and utilizations, and whether they are what is wanted.

use super::once::{CURRENT, LAST, SERIAL, STATIC, Subject};
use super::plan::{AHEAD, AHEAD_FROM, Experiment, MOST_BEHIND, UTILIZATION_WANTED, is_of};
use super::record::{Part, Record};
use crate::experiments::times::Times;

/// The summary of a record.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The workers that are compared with one.
    pub workers: usize,
    /// Each of the study's experiments that was measured.
    pub experiments: Vec<ExperimentSummary>,
    /// Which share of the processors' time was spent computing.
    pub utilizations: Vec<Utilization>,
    /// What is wanted, and what it comes to.
    pub targets: Vec<Target>,
}

/// What was measured for an experiment.
#[derive(Debug, Clone)]
pub struct ExperimentSummary {
    /// Which.
    pub experiment: Experiment,
    /// Each network.
    pub networks: Vec<NetworkSummary>,
}

/// What was measured of a network.
#[derive(Debug, Clone)]
pub struct NetworkSummary {
    /// The network.
    pub subject: Subject,
    /// The times with one worker, in seconds, if the work were exactly what it should be.
    pub one: Times,
    /// With all workers: WS-LAST.
    pub last: Option<Point>,
    /// WS-CUR.
    pub current: Option<Point>,
}

/// A network with all workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The times in seconds, if the work were exactly what it should be.
    pub times: Times,
    /// The time with one worker over this one.
    pub speedup: f64,
    /// Steal attempts a second, of all workers together: the median.
    pub attempts: f64,
}

/// Which share of the processors' time was spent computing.
#[derive(Debug, Clone, PartialEq)]
pub struct Utilization {
    /// The network.
    pub subject: Subject,
    /// What executed it.
    pub runtime: String,
    /// Ts/(PA·TP).
    pub utilization: f64,
    /// What equal shares without any messages reach on this machine.
    pub ceiling: Option<f64>,
    /// Steal attempts a second.
    pub attempts: f64,
}

/// Something that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// What, in words.
    pub about: String,
    /// What it is.
    pub is: f64,
    /// What it should be.
    pub bound: Bound,
}

/// On which side of a number something should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// At least this.
    Least(f64),
    /// At most this.
    Most(f64),
}

impl Summary {
    /// Summarizes `record`. What was never measured is left out.
    pub fn of(record: &Record) -> Summary {
        let plan = &record.header.plan;
        let mut experiments = Vec::new();
        let mut utilizations = Vec::new();
        for part in &plan.parts {
            let Ok(experiment) = Experiment::find(&part.experiment) else { continue };
            if experiment == Experiment::Utilization {
                utilizations = of_utilization(record, part);
                continue;
            }
            let subjects = part.networks.iter().filter_map(|size| Subject::find(size).ok());
            let networks: Vec<NetworkSummary> =
                subjects.filter_map(|subject| of_network(record, subject)).collect();
            if !networks.is_empty() {
                experiments.push(ExperimentSummary { experiment, networks });
            }
        }
        let targets = targets(&experiments, &utilizations);
        Summary { workers: plan.workers, experiments, utilizations, targets }
    }

    /// What was measured for `experiment`.
    pub fn on(&self, experiment: Experiment) -> Option<&ExperimentSummary> {
        self.experiments.iter().find(|found| found.experiment == experiment)
    }
}

impl NetworkSummary {
    /// The time under WS-LAST over that under WS-CUR.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.last?.times.median / self.current?.times.median)
    }

    /// The study's d, where the work of a message is 1/d seconds.
    pub fn division(&self) -> u64 {
        1_000_000_000 / self.subject.nanos
    }
}

impl Target {
    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        match self.bound {
            Bound::Least(least) => self.is >= least,
            Bound::Most(most) => self.is <= most,
        }
    }

    /// The same in a word.
    pub fn verdict(&self) -> &'static str {
        if self.is_reached() { "reached" } else { "missed" }
    }

    /// What is wanted, in words.
    pub fn wanted(&self) -> String {
        match self.bound {
            Bound::Least(least) => format!("at least {least:.2}"),
            Bound::Most(most) => format!("at most {most:.2}"),
        }
    }
}

/// What was measured of a network on a runtime: times if the work were exactly what it should be, and steal attempts a second.
fn found(record: &Record, subject: Subject, runtime: &str, workers: usize) -> Option<(Times, f64)> {
    let size = subject.size();
    // Each process found out by itself how long a division takes; by how much they differ is taken out.
    let found =
        || record.measurements.iter().filter(|found| is_of(&found.cell, &size, runtime, workers));
    let divisions = all_divisions(record, &size)?;
    let times =
        found().map(|found| found.finding.seconds * divisions / found.finding.divisions as f64);
    let rates = found().map(|found| {
        let attempts = found.finding.steals + found.finding.failed_steals;
        attempts as f64 / found.finding.running_seconds
    });
    Some((Times::of(times.collect())?, Times::of(rates.collect())?.median))
}

/// The median of what all processes found a network's work to be.
fn all_divisions(record: &Record, size: &str) -> Option<f64> {
    let found = record.measurements.iter().filter(|found| found.cell.size == size);
    Times::of(found.map(|found| found.finding.divisions as f64).collect()).map(|all| all.median)
}

fn of_network(record: &Record, subject: Subject) -> Option<NetworkSummary> {
    let (one, _) = found(record, subject, LAST, 1)?;
    let point = |runtime: &str| {
        let (times, attempts) = found(record, subject, runtime, record.header.plan.workers)?;
        Some(Point { times, speedup: one.median / times.median, attempts })
    };
    Some(NetworkSummary { subject, one, last: point(LAST), current: point(CURRENT) })
}

fn of_utilization(record: &Record, part: &Part) -> Vec<Utilization> {
    let workers = record.header.plan.workers;
    let processors = record.header.machine.granted(workers);
    let subjects = part.networks.iter().filter_map(|size| Subject::find(size).ok());
    let mut all = Vec::new();
    for subject in subjects {
        let Some((serial, _)) = found(record, subject, SERIAL, 1) else { continue };
        let share = |times: Times| serial.median / (processors * times.median);
        let ceiling = found(record, subject, STATIC, workers).map(|(times, _)| share(times));
        for runtime in [LAST, CURRENT] {
            if let Some((times, attempts)) = found(record, subject, runtime, workers) {
                let (runtime, utilization) = (runtime.to_owned(), share(times));
                all.push(Utilization { subject, runtime, utilization, ceiling, attempts });
            }
        }
    }
    all
}

fn targets(experiments: &[ExperimentSummary], utilizations: &[Utilization]) -> Vec<Target> {
    let mut targets = Vec::new();
    for found in utilizations.iter().filter(|found| found.runtime == LAST) {
        let nanos = found.subject.nanos;
        let wanted = UTILIZATION_WANTED.into_iter().find(|(micros, _)| 1000 * micros == nanos);
        if let Some((micros, least)) = wanted {
            targets.push(Target {
                about: format!("utilization at w = {micros} µs, n = {}", found.subject.processes),
                is: found.utilization,
                bound: Bound::Least(least),
            });
        }
    }
    let networks = || experiments.iter().flat_map(|found| &found.networks);
    let ratios = networks().filter_map(|found| Some((found.ratio()?, found.subject)));
    if let Some((worst, subject)) = ratios.max_by(|one, other| one.0.total_cmp(&other.0)) {
        let (n, micros) = (subject.processes, subject.micros());
        targets.push(Target {
            about: format!("WS-LAST's time over WS-CUR's, the worst (n = {n}, w = {micros} µs)"),
            is: worst,
            bound: Bound::Most(MOST_BEHIND),
        });
    }
    let is_first = |found: &&ExperimentSummary| found.experiment == Experiment::Division;
    let first = experiments.iter().find(is_first).into_iter().flat_map(|found| &found.networks);
    let fine = first.filter(|found| found.division() >= AHEAD_FROM);
    if let Some(ratios) = Times::of(fine.filter_map(NetworkSummary::ratio).collect()) {
        targets.push(Target {
            about: format!("the same in experiment 1 from d = {AHEAD_FROM} on, the median"),
            is: ratios.median,
            bound: Bound::Most(AHEAD),
        });
    }
    targets
}
