//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::{ExperimentSummary, NetworkSummary, Point, Summary, Target, Utilization};
use crate::experiments::missing;

/// Tables for people: the networks of each experiment, and what is wanted.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    let (plan, machine) = (&record.header.plan, &record.header.machine);
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        machine.capacity(),
        machine.processor,
        machine.kernel,
        plan.seed,
        record.finished
    );
    let _ = writeln!(text, "{}", plan::extent(plan));
    text += &missing::lines(&record.missing);
    for experiment in &summary.experiments {
        text += &of_experiment(summary, experiment);
    }
    if !summary.utilizations.is_empty() {
        text += &utilizations(summary);
    }
    if !summary.targets.is_empty() {
        text += "\nwanted\n";
    }
    for target in &summary.targets {
        let Target { about, is, .. } = target;
        let _ =
            writeln!(text, "  {about}: {is:.3}  wanted: {}: {}", target.wanted(), target.verdict());
    }
    text
}

fn of_experiment(summary: &Summary, found: &ExperimentSummary) -> String {
    let mut text = format!(
        "\nexperiment {}: speedup of {} workers over 1, and thousands of steal attempts a second\n",
        found.experiment.name(),
        summary.workers
    );
    let _ = writeln!(
        text,
        "  {:>5}{:>9}{:>7}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "n", "w, µs", "m", "T1, s", "WS-LAST", "attempts", "WS-CUR", "attempts", "LAST/CUR"
    );
    for network in &found.networks {
        let NetworkSummary { subject, one, last, current } = network;
        let _ = write!(
            text,
            "  {:>5}{:>9}{:>7}{:>10.4}",
            subject.processes,
            subject.micros(),
            subject.rounds,
            one.median
        );
        for point in [last, current] {
            let (speedup, attempts) = point.as_ref().map_or(("-".into(), "-".into()), cells);
            let _ = write!(text, "{speedup:>10}{attempts:>10}");
        }
        let ratio = network.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        let _ = writeln!(text, "{ratio:>10}");
    }
    text
}

/// Speedup, and thousands of steal attempts a second.
pub fn cells(point: &Point) -> (String, String) {
    (format!("{:.3}", point.speedup), format!("{:.1}", point.attempts / 1e3))
}

fn utilizations(summary: &Summary) -> String {
    let mut text = format!("\nutilization of {} workers: Ts/(PA·TP)\n", summary.workers);
    let _ = writeln!(
        text,
        "  {:>5}{:>9}{:>7}  {:<14}{:>12}{:>9}{:>10}",
        "n", "w, µs", "m", "runtime", "utilization", "ceiling", "attempts"
    );
    for Utilization { subject, runtime, utilization, ceiling, attempts } in &summary.utilizations {
        let _ = writeln!(
            text,
            "  {:>5}{:>9}{:>7}  {runtime:<14}{utilization:>12.3}{:>9}{:>10.1}",
            subject.processes,
            subject.micros(),
            subject.rounds,
            ceiling.map_or("-".to_owned(), |ceiling| format!("{ceiling:.3}")),
            attempts / 1e3
        );
    }
    text
}
