//! What is said of a record of the meter.

use std::collections::{BTreeMap, BTreeSet};

use super::{KINDS, Kind, LOCKSLEY, Meter};
use crate::experiment::estimate::{Estimate, Verdict};
use crate::experiment::text::number;
use crate::experiment::{Chart, Experiment, Record, Report, Section, Table};

/// What a fork may take more in a profiled pool, in nanoseconds.
const MOST_FOR_A_FORK: f64 = 60.0;
/// How much longer a program with leaves of [`LEAST_LEAF`] nanoseconds or more may take, in
/// percent.
const MOST_WITH_LEAVES: f64 = 5.0;
const LEAST_LEAF: u64 = 1000;
/// How much longer the applications may take, in percent.
const MOST_WITH_APPS: f64 = 3.0;

/// The name of the applications' mean.
const MEAN: &str = "geometric mean";

/// What is said of a record.
pub(super) fn of(record: &Record) -> Report {
    let rows: Vec<Row> = KINDS.iter().flat_map(|kind| rows(record, kind)).collect();
    Report {
        title: Meter::NAME.to_owned(),
        headline: headline(&rows),
        notes: vec![
            "A target is met or missed if the whole interval lies on one side of it.".to_owned(),
        ],
        sections: KINDS.iter().map(|kind| section(kind, &rows)).collect(),
        method: [
            "Each measurement is a process with two pools, one of which has a profiler. It \
             computes the same on both, in up to 64 pairs next to each other in time; in half \
             of the pairs the profiled pool comes first. The process gives the medians of both \
             times, and of their differences or ratios.",
            "A figure is the median over the processes, with the interval of order statistics. \
             The mean of the applications is taken in each rotation.",
            "The worker takes the time, around the computation: to begin a region and to make \
             its report is under 'regions' only.",
            "Every answer is checked, and that the profiler has counted all forks of forks and \
             leaves. Leaves are steps of xorshift64, as many as take the time where the \
             machine is at its fastest.",
        ]
        .map(str::to_owned)
        .into(),
        ..Report::default()
    }
}

/// What is said of a subject with a number of workers.
pub(super) struct Row {
    kind: &'static Kind,
    pub(super) name: String,
    /// Without a profiler and with one, in nanoseconds.
    times: [Option<f64>; 2],
    /// What the profiler costs: nanoseconds, or percent.
    pub(super) cost: Estimate,
    /// What it may cost at most.
    target: Option<f64>,
}

impl Row {
    /// A cost as text.
    fn text(&self, cost: f64) -> String {
        if self.kind.is_ratio { format!("{cost:.2}") } else { number(cost / self.kind.unit.1) }
    }

    /// Whether the target is met; nothing if there is none.
    fn verdict(&self) -> &'static str {
        self.target.map_or("", |most| Verdict::of(self.cost, most).word())
    }

    fn cells(&self) -> [String; 7] {
        let time = |time: f64| number(time / self.kind.unit.1);
        let [off, on] = self.times.map(|it| it.map_or_else(String::new, time));
        let Estimate { figure, low, high } = self.cost;
        let interval = match self.cost.is_bounded() {
            true => format!("{} to {}", self.text(low), self.text(high)),
            false => String::new(),
        };
        let target = self.target.map_or_else(String::new, |most| self.text(most));
        let verdict = self.verdict().to_owned();
        [self.name.clone(), off, on, self.text(figure), interval, target, verdict]
    }
}

pub(super) fn rows(record: &Record, kind: &'static Kind) -> Vec<Row> {
    let mut groups = record.groups("ratio");
    groups.retain(|(subject, _)| kind_of(subject) == kind.name);
    let row = |&(subject, workers): &(&str, usize)| {
        let costs: Vec<f64> = if kind.is_ratio {
            let ratios = record.values(subject, LOCKSLEY, workers, "ratio");
            ratios.into_iter().map(percent).collect()
        } else {
            record.values(subject, LOCKSLEY, workers, "ns more")
        };
        let time = |metric| record.median(subject, LOCKSLEY, workers, metric);
        let (name, times) = (format!("{subject}, P = {workers}"), ["ns off", "ns on"].map(time));
        let cost = Estimate::of_median(costs)?;
        Some(Row { kind, name, times, cost, target: target(kind.name, subject) })
    };
    let mut rows: Vec<Row> = groups.iter().filter_map(row).collect();
    if kind.name == "apps" {
        let numbers: BTreeSet<usize> = groups.iter().map(|group| group.1).collect();
        for workers in numbers {
            let apps = groups.iter().filter(|group| group.1 == workers).map(|group| group.0);
            rows.extend(mean(record, kind, &apps.collect::<Vec<_>>(), workers));
        }
    }
    rows
}

/// The kind of a subject.
pub(super) fn kind_of(subject: &str) -> &str {
    match subject.split(' ').next() {
        Some("fork" | "apart") => "fork",
        Some(name @ ("leaves" | "regions")) => name,
        _ => "apps",
    }
}

fn target(kind: &str, subject: &str) -> Option<f64> {
    match kind {
        "fork" => Some(MOST_FOR_A_FORK),
        "apps" => Some(MOST_WITH_APPS),
        "leaves" => {
            let nanos: u64 = subject.split_once('x')?.1.parse().ok()?;
            (nanos >= LEAST_LEAF).then_some(MOST_WITH_LEAVES)
        }
        _ => None,
    }
}

/// A ratio of times as percent that the second is longer.
pub(super) fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// The geometric mean of the applications' ratios: the median over the repetitions in which all
/// were measured.
fn mean(record: &Record, kind: &'static Kind, apps: &[&str], workers: usize) -> Option<Row> {
    let mut logarithms: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for app in apps {
        for (repeat, ratio) in record.by_repetition(app, LOCKSLEY, workers, "ratio") {
            logarithms.entry(repeat).or_default().push(ratio.ln());
        }
    }
    let number = apps.len();
    let complete = logarithms.into_values().filter(|all| all.len() == number);
    let means = complete.map(|all| percent((all.iter().sum::<f64>() / number as f64).exp()));
    let cost = Estimate::of_median(means.collect())?;
    let (name, target) = (format!("{MEAN} of {number}, P = {workers}"), Some(MOST_WITH_APPS));
    Some(Row { kind, name, times: [None; 2], cost, target })
}

fn section(kind: &Kind, rows: &[Row]) -> Section {
    let rows = rows.iter().filter(|row| row.kind.name == kind.name);
    let more = if kind.is_ratio { "% longer" } else { "more" };
    let mut table = Table::new(kind.unit.0, &["", "off", "on", more, "95 %", "at most", ""]);
    rows.clone().for_each(|row| table.row(row.cells()));
    // Leaves by their size, applications without it.
    let name = |row: &Row| {
        let (subject, workers) = row.name.rsplit_once(", P = ").unwrap_or((&row.name, ""));
        let (kind, size) = subject.split_once(' ').unwrap_or((subject, ""));
        format!("{} P={workers}", if kind == "leaves" { size } else { kind })
    };
    let bar = |row: &Row| (name(row), row.cost.figure);
    let (title, unit) = ("by how much a profiled program takes longer".to_owned(), "%".to_owned());
    let bars: Vec<_> = rows.filter(|_| kind.is_ratio).map(bar).collect();
    let charts = (!bars.is_empty()).then_some(Chart::Bars { title, unit, bars });
    Section::new(kind.name, kind.about, charts.into_iter().collect(), vec![table])
}

/// For each of the three targets, the highest cost that it is for.
fn headline(rows: &[Row]) -> String {
    let highest = |what: &str, start: &str, part: &str| {
        let is_its = |row: &&Row| row.name.starts_with(start) && row.name.contains(part);
        let of = rows.iter().filter(is_its);
        let row = of.max_by(|a, b| a.cost.figure.total_cmp(&b.cost.figure))?;
        let unit = if row.kind.is_ratio { "% longer" } else { "ns more" };
        Some(format!("{what} {} {unit} ({})", row.text(row.cost.figure), row.verdict()))
    };
    let words: Vec<String> = [
        highest("a fork takes", "fork ", ""),
        highest("a program with leaves of 1 µs", "leaves ", "x1000,"),
        highest("the applications", MEAN, ""),
    ]
    .into_iter()
    .flatten()
    .collect();
    match words.is_empty() {
        true => "What a profiler costs".to_owned(),
        false => format!("Profiled, {}", words.join(", ")),
    }
}
