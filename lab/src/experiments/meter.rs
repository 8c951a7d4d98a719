//! What a profiler costs: a fork, programs with small leaves, the applications, and a region.
//! `forkjoin` counts the instructions of a profiled fork.
//!
//! A process computes the same in turn on a pool without a profiler and on one with a profiler
//! (`pairs`), since a host's speed changes within seconds by more than the profiler costs.

mod pairs;

use std::time::Duration;

use clap::Args;

use crate::apps;
use crate::experiment::report::Metric;
use crate::experiment::{
    Cell, Course, Experiment, Measured, Plan, Readings, Record, Report, Section, child, plan,
    seconds,
};
use crate::fault::{Fault, Outcome};
use crate::machine;

/// The runtime of all that is measured.
const LOCKSLEY: &str = "locksley";

/// Some milliseconds each: the machine has the same speed for both of a pair.
const FORK: &str = "fork 25";
const LEAVES: [&str; 3] = ["leaves 32768x100", "leaves 4096x1000", "leaves 512x10000"];
const REGIONS: &str = "regions 8";

/// The two metrics of a cost.
const RATIO: &str = "ratio";
const NANOS_MORE: &str = "ns more";

/// What subjects have in common.
struct Kind {
    name: &'static str,
    about: &'static str,
    /// The metric of its cost.
    cost: &'static str,
}

static KINDS: [Kind; 4] = [
    Kind {
        name: "fork",
        about: "A Fibonacci number, doubly recursive, on one worker: nothing but forks.",
        cost: NANOS_MORE,
    },
    Kind { name: "leaves", about: "A tree of joins, LEAVESxNANOSECONDS.", cost: RATIO },
    Kind { name: "apps", about: "The applications in their quick sizes.", cost: RATIO },
    Kind {
        name: "regions",
        about: "Profiler::measure of a task that does nothing, beside Pool::install. The other \
                figures do not contain this.",
        cost: NANOS_MORE,
    },
];

/// `locksley meter`
#[derive(Debug, Args)]
pub struct Meter {
    /// Only these: fork, leaves, apps, regions [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// For how long each is computed with and without a profiler in a rotation, in seconds
    /// [default: 0.8, or 0.1 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<Duration>,
    /// How often each is measured, if the time suffices; fewer than 6 give no intervals
    #[arg(long, value_name = "K")]
    repeats: Option<usize>,
}

impl Experiment for Meter {
    const NAME: &'static str = "meter";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let all: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let kinds = plan::chosen("kind", &self.kinds, &all, &all)?;
        let repeats = plan::repeats(self.repeats, 6)?;
        let seconds = self.seconds(quick);
        let mut plan = Plan::of(course, if quick { 52.0 } else { 270.0 }, 60.0 + seconds);
        plan.compare(LOCKSLEY, env!("CARGO_PKG_VERSION"), "a pool without and with a profiler");
        plan.parameters.insert("seconds of pairs in a process".to_owned(), seconds.to_string());
        plan.quick_subset("short series of pairs; the applications with one worker only");
        for kind in all.into_iter().filter(|kind| kinds.contains(kind)) {
            plan.cells.extend(cells(kind, quick, machine::default_workers(), repeats));
        }
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Measured {
        let subject = format!("{} {}", cell.subject, self.seconds(plan.quick));
        child::once(Self::NAME, plan, &Cell { subject, ..cell.clone() })
    }

    /// The subject has a third word: for how many seconds pairs are measured.
    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let wrong = |why| Fault::input(format!("'{}': {why}", cell.subject));
        let (subject, time) = cell.subject.rsplit_once(' ').unwrap_or(("", &cell.subject));
        let time = seconds(time).map_err(wrong)?;
        pairs::measure(subject, cell.workers, time, seed)
    }

    fn report(record: &Record) -> Report {
        let section = |kind: &Kind| {
            let unit = match kind.cost {
                RATIO => "time with a profiler over the time without",
                _ => "ns more with a profiler, for each",
            };
            let metric = Metric { name: kind.cost, unit, base: None };
            let is_its = |subject: &str, _| kind_of(subject) == kind.name;
            Section::of_metric(record, kind.name, kind.about, metric, is_its)
        };
        let apps: Vec<f64> = record
            .groups(RATIO)
            .into_iter()
            .filter(|(subject, _)| kind_of(subject) == "apps")
            .filter_map(|(subject, workers)| record.median(subject, LOCKSLEY, workers, RATIO))
            .collect();
        let mean = apps.iter().map(|ratio| ratio.ln()).sum::<f64>() / apps.len() as f64;
        let headline = match apps.is_empty() {
            true => "What a profiler costs".to_owned(),
            false => format!("Profiled, applications take {:.3} of the time", mean.exp()),
        };
        Report {
            title: Self::NAME.to_owned(),
            headline,
            sections: KINDS.iter().map(section).collect(),
            method: [
                "Each measurement is a process with two pools, one of which has a profiler. It \
                 computes the same on both, in up to 64 pairs next to each other in time; in half \
                 of the pairs the profiled pool comes first. The process gives the medians of \
                 both times, and of their differences and ratios.",
                "A figure is the median over the processes; the applications' mean is geometric.",
                "The worker takes the time, around the computation: to begin a region and to make \
                 its report is under 'regions' only.",
                "Every answer is checked, and that the profiler has counted all forks of forks \
                 and leaves. Leaves are steps of xorshift64, as many as take the time where the \
                 machine is at its fastest.",
            ]
            .map(str::to_owned)
            .into(),
            ..Report::default()
        }
    }
}

impl Meter {
    fn seconds(&self, quick: bool) -> f64 {
        self.secs.map_or(if quick { 0.1 } else { 0.8 }, |time| time.as_secs_f64())
    }
}

/// The kind of a subject.
fn kind_of(subject: &str) -> &str {
    match subject.split(' ').next() {
        Some("fork" | "apart") => "fork",
        Some(name @ ("leaves" | "regions")) => name,
        _ => "apps",
    }
}

/// What is measured of a kind: forks and regions on one worker, all else also on one for each
/// processor.
fn cells(kind: &str, quick: bool, processors: usize, repeats: usize) -> Vec<Cell> {
    let app = |app: &&apps::App| format!("{} {}", app.name, app.quick_size);
    let subjects: Vec<String> = match kind {
        "fork" => vec![FORK.to_owned()],
        "leaves" => LEAVES.map(str::to_owned).into(),
        "regions" => vec![REGIONS.to_owned()],
        _ => apps::ALL.iter().map(app).collect(),
    };
    // The applications take most of the time.
    let is_on_all = processors > 1 && (kind == "leaves" || kind == "apps" && !quick);
    let numbers = if is_on_all { vec![1, processors] } else { vec![1] };
    let cell = |subject: &String, workers| {
        let (subject, runtime) = (subject.clone(), LOCKSLEY.to_owned());
        Cell { subject, runtime, workers, repeats }
    };
    let of = |subject| numbers.iter().map(move |&workers| cell(subject, workers));
    subjects.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests;
