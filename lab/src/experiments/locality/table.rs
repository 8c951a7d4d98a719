//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::{Input, Record};
use super::summary::{Figure, Group, Summary};
use crate::experiments::wait::table::{number, percent};

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
        "{} places {} ({}), the least cache {} bytes, {} workers",
        division.places.len(),
        division.reason,
        division.places.join(" | "),
        division.cache,
        plan.workers
    );
    if plan.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    let _ = writeln!(text, "milliseconds: medians, the least and the most of what was measured");
    for group in &summary.groups {
        text += &of_group(group);
    }
    text + &of_apps(summary)
}

fn of_apps(summary: &Summary) -> String {
    let Some(mean) = summary.of_apps() else { return String::new() };
    let mut text = "\napplications that know nothing of places\n".to_owned();
    let _ = writeln!(
        text,
        "  {:<11}{:<22}{:>9}{:>9}{:>9}",
        "application", "size", "without", "with", "ratio"
    );
    for app in &summary.apps {
        let Input { kind, size } = &app.input;
        let (without, with) = (number(app.without.median * 1e3), number(app.with.median * 1e3));
        let _ = writeln!(text, "  {kind:<11}{size:<22}{without:>9}{with:>9}{:>9.3}", app.ratio());
    }
    let _ = writeln!(text, "  geometric mean of the ratios: {mean:.3}");
    text
}

fn of_group(group: &Group) -> String {
    let mut text = format!("\n{}\n", group.subject.about());
    let _ = writeln!(
        text,
        "  {:<14}{:>9}{:>9}{:>9}{:>13}{:>14}",
        "placement", "median", "least", "most", "of ignorant", "out of place"
    );
    for Figure { placement, time, of_ignorant, out_of_place } in &group.placements {
        let _ = writeln!(
            text,
            "  {placement:<14}{:>9}{:>9}{:>9}{:>13}{:>14}",
            number(time.median * 1e3),
            number(time.least * 1e3),
            number(time.most * 1e3),
            of_ignorant.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            percent(*out_of_place)
        );
    }
    text
}
