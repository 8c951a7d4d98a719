//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::{Input, Record};
use super::summary::{Figure, Group, Summary};
use crate::experiments::number::{number, percent};

/// A table for people: each subject, with what each placement makes of it.
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
    let division = &plan.division;
    let _ = writeln!(
        text,
        "{} places {} ({}), the least cache{} {} bytes, {} workers",
        division.places.len(),
        division.reason,
        division.places.join(" | "),
        if division.kind.is_empty() { String::new() } else { format!(" ({})", division.kind) },
        division.cache,
        plan.workers
    );
    for note in notes(record, summary) {
        let _ = writeln!(text, "{note}");
    }
    let _ = writeln!(text, "milliseconds: medians, the least and the most of what was measured");
    for group in &summary.groups {
        text += &of_group(group, summary.has_counts());
    }
    plan.numbers().fold(text, |text, workers| text + &of_apps(summary, workers))
}

/// What must be known of the figures, in sentences.
pub fn notes(record: &Record, summary: &Summary) -> Vec<String> {
    let plan = &record.header.plan;
    let mut notes = Vec::new();
    if plan.quick {
        notes.push(plan::subset(plan));
    }
    if let Some(simulator) = &plan.simulated {
        notes.push(format!(
            "This machine is simulated, by {simulator}: it has no caches, and the figures say nothing but that all answers are right"
        ));
    }
    if !summary.has_counts() {
        let why = plan.uncounted.0.as_deref().unwrap_or("nothing was counted that can be used");
        notes.push(format!("Hits and misses of caches were not counted: {why}"));
    }
    if summary.unbound > 0 {
        let unbound = summary.unbound;
        notes.push(format!("The system did not bind {unbound} of the workers to their places"));
    }
    notes
}

fn of_apps(summary: &Summary, workers: usize) -> String {
    let Some(mean) = summary.of_apps(workers) else { return String::new() };
    let mut text = format!("\napplications that know nothing of places, P = {workers}\n");
    let _ = writeln!(
        text,
        "  {:<11}{:<22}{:>9}{:>9}{:>9}",
        "application", "size", "without", "with", "ratio"
    );
    for app in summary.apps.iter().filter(|app| app.workers == workers) {
        let Input { kind, size } = &app.input;
        let (without, with) = (number(app.without.median * 1e3), number(app.with.median * 1e3));
        let _ = writeln!(text, "  {kind:<11}{size:<22}{without:>9}{with:>9}{:>9.3}", app.ratio);
    }
    let _ = writeln!(
        text,
        "  geometric mean of the ratios: {mean:.3} (a ratio is the median of those of each rotation)"
    );
    text
}

fn of_group(group: &Group, has_counts: bool) -> String {
    let mut text = format!("\n{}, P = {}\n", group.subject.about(), group.workers);
    let _ = write!(
        text,
        "  {:<18}{:>9}{:>9}{:>9}{:>13}{:>14}",
        "placement", "median", "least", "most", "of ignorant", "out of place"
    );
    text += if has_counts { "  hits/1000 misses/1000\n" } else { "\n" };
    for figure in &group.placements {
        let Figure { placement, time, of_ignorant, out_of_place, counts } = figure;
        let _ = write!(
            text,
            "  {placement:<18}{:>9}{:>9}{:>9}{:>13}{:>14}",
            number(time.median * 1e3),
            number(time.least * 1e3),
            number(time.most * 1e3),
            of_ignorant.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            percent(*out_of_place)
        );
        if let Some(counts) = counts {
            let _ = write!(text, "{:>11}{:>12}", counts.hits / 1000, counts.misses / 1000);
        }
        text.push('\n');
    }
    text
}
