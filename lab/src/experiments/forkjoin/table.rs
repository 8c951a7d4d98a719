//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::{Fate, InputSummary, StuckSummary, Summary};
use crate::experiments::cliff::table::seconds;

/// Tables for people: each computation, then each stuck owner.
pub fn text(record: &Record, summary: &Summary) -> String {
    let header = &record.header;
    let mut text = String::new();
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        header.machine.capacity(),
        header.machine.processor,
        header.machine.kernel,
        header.plan.seed,
        record.finished
    );
    if header.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&header.plan));
    }
    for missing in &header.left_out {
        let _ = writeln!(text, "without {}: {}", missing.runtime, missing.reason);
    }
    text += "medians; ns/task = (T1 - Ts)/forks, best: of the shortest times, calls: over the same code with two calls for a fork; times in seconds\n";
    if let Some(ratio) = summary.unrest() {
        let _ = writeln!(
            text,
            "NOTE: the slowest serial run took {ratio:.1} times as long as the fastest; the machine was not quiet"
        );
    }
    for input in &summary.inputs {
        let _ = write!(text, "\n{}", input_table(input));
    }
    text += "\nstuck owners, two workers; ms until the others began its tasks, and until all were done: median (worst)\n";
    for stuck in &summary.stuck {
        text += &stuck_table(stuck);
    }
    text
}

fn input_table(input: &InputSummary) -> String {
    let mut text = format!(
        "{} {}: {} forks, Ts = {}",
        input.app,
        input.size,
        input.forks,
        seconds(input.serial.median)
    );
    let _ = write!(text, ", with two calls for a fork {}", seconds(input.calls.median));
    if !input.given_up.is_empty() {
        let _ = write!(text, "; given up: {}", input.given_up.join(", "));
    }
    let with_instructions = input.runtimes.iter().any(|found| found.task_instructions.is_some());
    let _ = write!(text, "\n  {:<15}{:>9}{:>9}{:>9}", "runtime", "ns/task", "best", "calls");
    if with_instructions {
        let _ = write!(text, "{:>12}", "instr/task");
    }
    let _ = write!(text, "{:>11}{:>8}", "T1", "T1/Ts");
    let points = input.runtimes.first().map(|found| &found.points[..]).unwrap_or_default();
    for point in points.iter().filter(|point| point.workers > 1) {
        let heads = [format!("T{}", point.workers), format!("T{}/T1", point.workers)];
        let _ = write!(text, "{:>11}{:>8}", heads[0], heads[1]);
    }
    text.push('\n');
    for found in &input.runtimes {
        let _ = write!(
            text,
            "  {:<15}{:>9.2}{:>9.2}{:>9.2}",
            found.runtime, found.task_nanos, found.best_task_nanos, found.over_calls_nanos
        );
        if with_instructions {
            let number = found.task_instructions.map(|number| format!("{number:.1}"));
            let _ = write!(text, "{:>12}", number.unwrap_or_default());
        }
        let _ = write!(text, "{:>11}{:>8.2}", seconds(found.work.median), found.overhead);
        for point in found.points.iter().filter(|point| point.workers > 1) {
            let _ = match (point.times, point.of_work) {
                (Some(times), Some(ratio)) => {
                    write!(text, "{:>11}{ratio:>8.2}", seconds(times.median))
                }
                _ => write!(text, "{:>11}{:>8}", "-", "-"),
            };
        }
        text.push('\n');
    }
    text
}

fn stuck_table(stuck: &StuckSummary) -> String {
    let mut text = format!("  {}: {}\n", stuck.shape.name(), stuck.shape.about());
    for (runtime, fate) in &stuck.runtimes {
        let [first, all] = fate_words(fate);
        let _ = writeln!(text, "    {runtime:<15}{first:>20}{all:>20}");
    }
    text
}

/// When the first task began, and when all were done.
pub fn fate_words(fate: &Fate) -> [String; 2] {
    match fate {
        Fate::Done { median, worst, .. } => [
            format!("{:.2} ({:.2})", median.first_ms, worst.first_ms),
            format!("{:.1} ({:.1})", median.all_ms, worst.all_ms),
        ],
        Fate::Never(seconds) => ["-".to_owned(), format!("never (in {seconds} s)")],
    }
}
