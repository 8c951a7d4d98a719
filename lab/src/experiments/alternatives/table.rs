//! The figures as text.

use std::fmt::Write;

use super::breakdown::{self, Bar};
use super::plan;
use super::record::Record;
use crate::experiments::cliff::summary::Summary;

/// Tables for people: speedup over the number of workers, and where the time went.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        summary.capacity,
        record.machine.processor,
        record.machine.kernel,
        record.plan.seed,
        record.finished
    );
    if record.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&record.plan));
    }
    let missing = plan::missing(&record.plan);
    if !missing.is_empty() {
        let _ = writeln!(text, "not in this build: {}", missing.join(", "));
    }
    for (input, breakdown) in summary.inputs.iter().zip(breakdown::of(record)) {
        let _ = write!(text, "\n{} {}: speedup T1/TP, P =", input.input.app, input.input.size);
        for workers in &record.plan.workers {
            let _ = write!(text, "{workers:>6}");
        }
        text.push('\n');
        for runtime in &input.runtimes {
            let _ = write!(text, "  {:<34}", runtime.runtime);
            for workers in &record.plan.workers {
                let _ = match runtime.points.iter().find(|point| point.workers == *workers) {
                    Some(point) => write!(text, "{:>6.2}", point.speedup),
                    None => write!(text, "{:>6}", "-"),
                };
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "  {:<21}{:>3}{:>7}{:>9}{:>9}{:>7}{:>13}{:>13}{:>13}",
            "", "P", "time", "working", "hunting", "locks", "attempts/s", "waits/s", "preempts/s"
        );
        breakdown.bars.iter().for_each(|bar| text += &row(bar));
    }
    text
}

fn row(bar: &Bar) -> String {
    let share = |of: fn(&super::breakdown::Shares) -> f64| {
        bar.shares.as_ref().map_or("-".to_owned(), |shares| format!("{:.0}%", 100.0 * of(shares)))
    };
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
    format!(
        "  {:<21}{:>3}{:>7.2}{:>9}{:>9}{:>7}{:>13}{:>13}{:>13}\n",
        bar.runtime,
        bar.workers,
        bar.height,
        share(|shares| shares.working),
        share(|shares| shares.hunting),
        share(|shares| shares.locks),
        rate(bar.attempts),
        rate(bar.voluntary),
        rate(bar.involuntary)
    )
}
