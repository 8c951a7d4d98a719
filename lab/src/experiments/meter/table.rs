//! The summary as text.

use std::fmt::Write;

use super::once::Kind;
use super::plan::{self, MOST_WITH_APPS};
use super::record::Record;
use super::summary::{Figure, Mean, Summary};
use crate::experiments::estimate::Estimate;
use crate::experiments::heading::heading;
use crate::experiments::missing;
use crate::experiments::number::{number, percent_more};

/// What is said of a subject, or of several: a row.
pub struct Row {
    /// Of what, and with how many workers.
    pub name: String,
    /// Without a profiler, with one, what that costs, and its interval.
    pub figures: [String; 4],
    /// What it may cost at most; nothing where nobody said so.
    pub target: String,
    /// Whether it does; nothing where nobody said what it may.
    pub verdict: &'static str,
}

/// What all figures are.
pub const METHOD: &str = "medians over pairs of computations, one of them profiled, next to each \
                          other in time; beside them the interval of 95 %. A target is met or \
                          missed where all of that lies on one side of it, and else not decided";

/// A table for people.
pub fn text(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let mut text = heading(&record.header.machine, plan.seed, &record.finished);
    if plan.quick {
        text += &plan::subset(plan);
        text.push('\n');
    }
    text += &missing::lines(&record.missing);
    text += METHOD;
    text.push('\n');
    for kind in Kind::ALL {
        text += &section(summary, kind);
    }
    text
}

fn section(summary: &Summary, kind: Kind) -> String {
    let rows = rows(summary, kind);
    if rows.is_empty() {
        return String::new();
    }
    let cost = if kind.is_ratio() { "longer" } else { "more" };
    let (name, unit) = (title(kind), kind.unit());
    let heads = ["off", "on", cost, "at most"];
    let mut text = format!("\n{name}: {unit}\n");
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "  {:<38}{:>9}{:>9}{:>11}{:>26}{:>10}",
        "", heads[0], heads[1], heads[2], "", heads[3]
    );
    for Row { name, figures: [off, on, cost, interval], target, verdict } in rows {
        let interval = format!("({interval})");
        let line =
            format!("  {name:<38}{off:>9}{on:>9}{cost:>11}{interval:>26}{target:>10}  {verdict}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// What a kind is called.
pub fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Fork => "forks",
        Kind::Leaves => "leaves",
        Kind::Regions => "regions",
        Kind::Apps => "applications",
    }
}

/// All that is said of a kind.
pub fn rows(summary: &Summary, kind: Kind) -> Vec<Row> {
    let means = summary.means.iter().filter(|_| kind == Kind::Apps).map(mean);
    summary.of_kind(kind).map(row).chain(means).collect()
}

fn row(figure: &Figure) -> Row {
    let Figure { subject, workers, off, on, cost: found, .. } = figure;
    let kind = subject.kind();
    Row {
        name: format!("{}, P = {workers}", subject.about()),
        figures: [number(*off), number(*on), cost(kind, found.figure), interval(kind, found)],
        target: subject.target().map_or(String::new(), |target| cost(kind, target)),
        verdict: figure.verdict().map_or("", |verdict| verdict.word()),
    }
}

fn mean(mean: &Mean) -> Row {
    let Mean { workers, number, cost: found } = mean;
    let none = String::new;
    Row {
        name: format!("geometric mean of {number}, P = {workers}"),
        figures: [none(), none(), cost(Kind::Apps, found.figure), interval(Kind::Apps, found)],
        target: cost(Kind::Apps, MOST_WITH_APPS),
        verdict: mean.verdict().word(),
    }
}

/// A cost in words: a number in the kind's unit, or by how many percent all takes longer.
pub fn cost(kind: Kind, cost: f64) -> String {
    if kind.is_ratio() { format!("{:.2} %", percent_more(cost)) } else { number(cost) }
}

fn interval(kind: Kind, found: &Estimate) -> String {
    format!("{} to {}", cost(kind, found.low), cost(kind, found.high))
}
