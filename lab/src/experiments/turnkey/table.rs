//! The summary as text.

use std::fmt::Write;

use super::once::TURNKEY;
use super::plan;
use super::record::Record;
use super::summary::{AppSummary, QuotaSummary, Summary};
use crate::experiments::missing;
use crate::experiments::wait::table::number;

/// A table for people.
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
    if plan.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    let _ = writeln!(text, "{}", groups(record));
    text += &missing::lines(&record.missing);
    text += &apps(plan.workers.as_slice(), &summary.apps);
    text += &phases(summary);
    text += &quotas(&summary.quotas);
    if let Some(moved) = &summary.moved {
        let _ = writeln!(
            text,
            "\nmoved while it works, {} workers allowed: to a quota of 1, which the pool follows after {:.3} s at most \
             ({} rounds/s, {} without it); and back, after {:.3} s",
            moved.workers,
            moved.lowered_after_s,
            number(moved.tight_rounds_per_s),
            number(moved.free_rounds_per_s),
            moved.raised_after_s
        );
    }
    text
}

/// Whether quotas were measured.
pub fn groups(record: &Record) -> String {
    match &record.header.plan.groups {
        Ok(version) => format!("control groups of version {version}"),
        Err(why) => format!("no quotas, since no control groups can be made: {why}"),
    }
}

/// How a number of workers is called.
pub fn name(workers: usize) -> String {
    if workers == TURNKEY { "turnkey".to_owned() } else { format!("P = {workers}") }
}

fn apps(workers: &[usize], apps: &[AppSummary]) -> String {
    let mut text = String::new();
    for beside in [false, true] {
        let its: Vec<&AppSummary> = apps.iter().filter(|app| app.beside == beside).collect();
        if its.is_empty() {
            continue;
        }
        let setting = if beside { "beside a cycler" } else { "alone" };
        let _ = write!(text, "\napplications {setting}: milliseconds, medians\n  {:<20}", "");
        let _ = write!(text, "{:>9}", name(TURNKEY));
        for &workers in workers {
            let _ = write!(text, "{:>9}", name(workers));
        }
        let _ = writeln!(text, "{:>17}", "turnkey over best");
        for app in its {
            let _ = write!(text, "  {:<20}", format!("{} {}", app.app, app.size));
            let millis = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |s| number(s * 1e3));
            let _ = write!(text, "{:>9}", millis(app.turnkey.map(|times| times.median)));
            for &workers in workers {
                let found = app.fixed.iter().find(|(fixed, _)| *fixed == workers);
                let _ = write!(text, "{:>9}", millis(found.map(|(_, times)| times.median)));
            }
            let ratio = app.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
            let _ = writeln!(text, "{ratio:>17}");
        }
    }
    text
}

fn phases(summary: &Summary) -> String {
    let Some((_, first)) = summary.phases.first() else { return String::new() };
    let mut text = "\nphases: workers awake (at work), rounds/s\n  ".to_owned();
    let _ = write!(text, "{:<10}", "");
    for phase in first {
        let _ = write!(text, "{:>26}", format!("parallelism {}", phase.parallelism));
    }
    text.push('\n');
    for (workers, phases) in &summary.phases {
        let _ = write!(text, "  {:<10}", name(*workers));
        for phase in phases {
            let figures = format!(
                "{:.2} ({:.2}), {}",
                phase.awake,
                phase.working,
                number(phase.rounds_per_s)
            );
            let _ = write!(text, "{figures:>26}");
        }
        text.push('\n');
    }
    text
}

fn quotas(quotas: &[QuotaSummary]) -> String {
    if quotas.is_empty() {
        return String::new();
    }
    let mut text = "\nquotas: rounds/s; how late a thread wakes that sleeps for a millisecond, in ms; periods used up/s\n".to_owned();
    let _ = writeln!(
        text,
        "  {:<18}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "rounds/s", "median", "1 in 100", "worst", "used up"
    );
    for quota in quotas {
        let _ = writeln!(
            text,
            "  {:<18}{:>10}{:>10}{:>10}{:>10}{:>10}",
            format!("{:.2}, {}", quota.hundredths as f64 / 100.0, name(quota.workers)),
            number(quota.rounds_per_s),
            number(quota.median_late_ms),
            number(quota.p99_late_ms),
            number(quota.worst_late_ms),
            number(quota.throttled_per_s)
        );
    }
    text
}
