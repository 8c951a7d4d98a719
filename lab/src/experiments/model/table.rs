//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::Summary;
use crate::experiments::bound::words;
use crate::experiments::cliff::table::seconds;
use crate::experiments::heading::{disturbance, heading};

/// A table for people: each input with its parallelism and its utilizations, and the constants.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = heading(&record.machine, record.plan.seed, &record.finished);
    // Writing to a string does not fail, so the results below are dropped.
    if record.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&record.plan));
    }
    text += &disturbance(summary.taken);
    let _ = writeln!(
        text,
        "utilization T1/(PA TP), medians of rotations, with T1 and TP of the same one; PA = min(P, {}), as if nobody else used the machine; times in seconds; T∞, and the T1 of T1/T∞, metered on one worker\n",
        summary.capacity
    );
    let _ = write!(text, "{:<22}{:>10}{:>11}{:>9}  P =", "input", "T1", "T∞", "T1/T∞");
    for workers in &record.plan.workers {
        let _ = write!(text, "{workers:>6}");
    }
    text.push('\n');
    for input in &summary.bound.computations {
        let _ = write!(
            text,
            "{:<22}{:>10}{:>11}{:>9.1}{}    ",
            input.name(),
            seconds(input.work),
            seconds(input.critical_path),
            input.parallelism(),
            if input.is_whole { " " } else { "?" }
        );
        for workers in &record.plan.workers {
            let _ = match input.at(*workers, None) {
                Some(point) => write!(text, "{:>6.2}", point.utilization),
                None => write!(text, "{:>6}", "-"),
            };
        }
        text.push('\n');
    }
    text.push('\n');
    for line in words::sentences(&summary.bound) {
        let _ = writeln!(text, "{line}");
    }
    text
}
