//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::summary::{InputSummary, Summary};
use crate::experiments::heading::{disturbance, heading};
use crate::record::Record;

/// A table for people: each input, each runtime, and the utilization over the number of workers.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = heading(&record.machine, record.plan.seed, &record.finished);
    // Writing to a string does not fail, so the results below are dropped.
    if record.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&record.plan));
    }
    let _ = writeln!(
        text,
        "utilization T1/(PA TP), medians; PA = min(P, {}); times in seconds",
        summary.capacity
    );
    text += &disturbance(summary.taken_by_others());
    for input in &summary.inputs {
        let _ = write!(text, "\n{}", input_table(input, &record.plan.workers));
    }
    if !summary.beside.is_empty() {
        let fair = summary.fair_share();
        let _ = writeln!(text, "\nbeside two busy threads: speed over that alone; fair: {fair:.2}");
        for found in &summary.beside {
            let _ = writeln!(text, "  {:<18}{:>9.2}", found.runtime, found.share);
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn input_table(summary: &InputSummary, workers: &[usize]) -> String {
    let mut text = format!(
        "{} {} ({}), Ts = {}{}{}{}\n",
        summary.input.app,
        summary.input.size,
        summary.input.shows,
        seconds(summary.serial.median),
        summary
            .critical_path
            .map_or(String::new(), |path| format!(", T∞ = {}", seconds(path.median))),
        summary
            .parallelism
            .map_or(String::new(), |parallelism| format!(", T1/T∞ = {parallelism:.1}")),
        summary
            .granted
            .map_or(String::new(), |granted| format!(", PA as metered at most {granted:.2}"))
    );
    let _ = write!(text, "  {:<18}{:>9}{:>7}  P =", "runtime", "T1", "T1/Ts");
    for workers in workers {
        let _ = write!(text, "{workers:>6}");
    }
    text.push('\n');
    for runtime in &summary.runtimes {
        let _ = write!(
            text,
            "  {:<18}{:>9}{:>7.3}     ",
            runtime.runtime,
            seconds(runtime.work),
            runtime.overhead
        );
        for workers in workers {
            let point = runtime.points.iter().find(|point| point.workers == *workers);
            let _ = match point {
                Some(point) if point.is_plausible() => {
                    write!(text, "{:>6.2}", point.utilization)
                }
                Some(_) => write!(text, "{:>6}", "noise"),
                None => write!(text, "{:>6}", "-"),
            };
        }
        text.push('\n');
    }
    // The ceiling is the machine's, not a runtime's: any runtime's points have it.
    if let Some(runtime) = summary.runtimes.last() {
        let _ = write!(text, "  {:<39}", "ceiling");
        for point in &runtime.points {
            let _ = write!(text, "{:>6.2}", point.ceiling);
        }
        text.push('\n');
    }
    text
}

/// A time with four significant digits.
pub fn seconds(seconds: f64) -> String {
    let digits =
        if seconds > 0.0 { (3.0 - seconds.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{seconds:.digits$}")
}
