//! The summary as text.

use std::fmt::Write;

use super::once::Kind;
use super::plan;
use super::record::Record;
use super::summary::{Figure, Group, Summary};
use crate::experiments::heading::heading;
use crate::experiments::missing;

/// A table for people: each subject, with what each runtime makes of it.
pub fn text(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let mut text = heading(&record.header.machine, plan.seed, &record.finished);
    // Writing to a string does not fail, so the results below are dropped.
    if plan.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    text += &missing::lines(&record.missing);
    let _ = writeln!(text, "medians, the least and the most of what was measured");
    for group in &summary.groups {
        text += &of_group(group);
    }
    text
}

fn of_group(group: &Group) -> String {
    let Group { subject, workers, runtimes } = group;
    let mut text = format!("\n{}, P = {workers}: {}\n", subject.about(), subject.unit());
    let _ = write!(text, "  {:<15}{:>9}{:>9}{:>9}", "runtime", "median", "least", "most");
    let _ = write!(text, "{:>9}", "of tokio");
    let _ = match subject.kind {
        Kind::PingPong => write!(text, "{:>9}", "apart"),
        Kind::Waiting => write!(text, "{:>9}{:>9}", "future", "beyond"),
        Kind::Spawn | Kind::Fork => Ok(()),
    };
    text.push('\n');
    for Figure { runtime, each, of_tokio, apart, waiting } in runtimes {
        let _ = write!(
            text,
            "  {runtime:<15}{:>9}{:>9}{:>9}{:>9}",
            number(each.median),
            number(each.least),
            number(each.most),
            of_tokio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
        );
        if let Some(share) = apart {
            let _ = write!(text, "{:>9}", percent(*share));
        }
        if let Some(waiting) = waiting {
            let _ = write!(text, "{:>9}{:>9}", number(waiting.future), number(waiting.beyond));
        }
        text.push('\n');
    }
    text
}

/// A number with three digits, or all those before the point.
pub fn number(number: f64) -> String {
    match number.abs() {
        n if n >= 99.95 => format!("{number:.0}"),
        n if n >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
