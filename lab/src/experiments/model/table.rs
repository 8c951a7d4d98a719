//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::{Summary, TARGET};
use crate::experiments::cliff::table::seconds;

/// A table for people: each input with its parallelism and its utilizations, and the constants.
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
    let _ = writeln!(
        text,
        "utilization T1/(PA TP), medians; PA = min(P, {}), as if nobody else used the machine; times in seconds; T∞, and the T1 of T1/T∞, metered on one worker\n",
        summary.capacity
    );
    let _ = write!(text, "{:<22}{:>10}{:>11}{:>9}  P =", "input", "T1", "T∞", "T1/T∞");
    for workers in &record.plan.workers {
        let _ = write!(text, "{workers:>6}");
    }
    text.push('\n');
    for input in &summary.inputs {
        let name = format!("{} {}", input.app, input.size);
        let _ = write!(
            text,
            "{name:<22}{:>10}{:>11}{:>9.1}{}    ",
            seconds(input.work),
            seconds(input.critical_path),
            input.parallelism(),
            if input.is_whole { " " } else { "?" }
        );
        for workers in &record.plan.workers {
            let _ = match input.points.iter().find(|point| point.workers == *workers) {
                Some(point) => write!(text, "{:>6.2}", point.utilization),
                None => write!(text, "{:>6}", "-"),
            };
        }
        text.push('\n');
    }
    text.push('\n');
    for line in constants(summary) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The constants, and which points fall under the target, a sentence each.
pub fn constants(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, fit) in &summary.fits {
        lines.push(match fit {
            Some(fit) => {
                let (of_c1, of_c_inf) = match fit.margins {
                    Some((c1, c_inf)) => (format!(" ± {c1:.3}"), format!(" ± {c_inf:.2} (95%)")),
                    None => (String::new(), String::new()),
                };
                format!(
                    "{name}: c1 = {:.3}{of_c1}, c∞ = {:.2}{of_c_inf}, mean error {:.0}%, {} points",
                    fit.c1,
                    fit.c_inf,
                    100.0 * fit.mean_error,
                    fit.points
                )
            }
            None => format!("{name}: too few points for constants"),
        });
    }
    let (under, all) = summary.under_target();
    let (c1, c_inf) = TARGET;
    lines.push(format!("{} of {all} points lie under the curve of ({c1}, {c_inf})", under.len()));
    for input in &summary.inputs {
        let its = under.iter().filter(|(other, _)| std::ptr::eq(*other, input));
        let workers: Vec<String> = its.map(|(_, point)| point.workers.to_string()).collect();
        if !workers.is_empty() {
            lines.push(format!(
                "under it: {} {} with P = {}",
                input.app,
                input.size,
                workers.join(", ")
            ));
        }
    }
    for input in summary.inputs.iter().filter(|input| !input.is_whole) {
        lines.push(format!(
            "left out, since the meter does not follow all of its waits: {} {}",
            input.app, input.size
        ));
    }
    if let Some((input, point)) = under.iter().min_by(|a, b| {
        let depth =
            |point: &super::summary::Point| point.utilization * (c1 + c_inf * point.normalized);
        depth(&a.1).total_cmp(&depth(&b.1))
    }) {
        lines.push(format!(
            "the farthest is {} {} with P = {}: utilization {:.2} at {:.3}",
            input.app, input.size, point.workers, point.utilization, point.normalized
        ));
    }
    lines
}
