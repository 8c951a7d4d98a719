//! The figures as text.

use std::fmt::Write;

use super::peer::FLOW;
use super::plan;
use super::record::Record;
use super::summary::{Figure, Summary, ratios};
use crate::experiments::cliff::summary::InputSummary;
use crate::experiments::cliff::table::seconds;
use crate::experiments::missing;

/// Tables for people: the time over the number of workers, and what an interval costs.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    let (plan, machine) = (&record.header.plan, &record.header.machine);
    // Writing to a string does not fail, so the results below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        summary.times.capacity, machine.processor, machine.kernel, plan.times.seed, record.finished
    );
    if plan.times.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    text += &missing::lines(&record.missing);
    let _ = writeln!(text, "medians, in seconds");
    for input in &summary.times.inputs {
        let _ = write!(text, "\n{}", of_input(input, &plan.times.workers));
    }
    text.push('\n');
    for Figure { runtime, about, unit, each } in &summary.costs {
        let (least, most) = (number(each.least), number(each.most));
        let _ = writeln!(
            text,
            "{runtime}, {about}: {} {unit} ({least} to {most})",
            number(each.median)
        );
    }
    let _ = match &plan.peer {
        Some(version) => writeln!(text, "{FLOW}: {version}"),
        None => writeln!(text, "{FLOW} was not there: peers/build makes it"),
    };
    text
}

fn of_input(input: &InputSummary, workers: &[usize]) -> String {
    let mut text = format!(
        "{} {} ({}), Ts = {}\n  {:<34}",
        input.input.app,
        input.input.size,
        input.input.shows,
        seconds(input.serial.median),
        "P ="
    );
    for workers in workers {
        let _ = write!(text, "{workers:>9}");
    }
    text.push('\n');
    for runtime in &input.runtimes {
        let _ = write!(text, "  {:<34}", runtime.runtime);
        for workers in workers {
            let point = runtime.points.iter().find(|point| point.workers == *workers);
            let time = point.map_or("-".to_owned(), |point| seconds(point.times.median));
            let _ = write!(text, "{time:>9}");
        }
        text.push('\n');
    }
    let _ = write!(text, "  {:<34}", "fork and join over intervals");
    let ratios = ratios(input);
    for workers in workers {
        let ratio = ratios.iter().find(|ratio| ratio.workers == *workers);
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{:.2}", ratio.ratio));
        let _ = write!(text, "{ratio:>9}");
    }
    text + "\n"
}

/// A number of nanoseconds or bytes.
pub fn number(number: f64) -> String {
    format!("{number:.0}")
}
