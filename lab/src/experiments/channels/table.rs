//! The summary as text.

use std::fmt::Write;

use super::once::Kind;
use super::plan;
use super::record::Record;
use super::summary::{Figure, Group, Summary, Target};
use crate::experiments::heading::heading;
use crate::experiments::missing;
use crate::experiments::wait::table::{number, percent};

/// A table for people: each subject, with what each runtime makes of it; and what is wanted.
pub fn text(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let mut text = heading(&record.header.machine, plan.seed, &record.finished);
    // Writing to a string does not fail, so the results below are dropped.
    if plan.quick {
        let _ = writeln!(text, "{}", plan::subset(plan));
    }
    for missing in &plan.left_out {
        let _ = writeln!(text, "without {}: {}", missing.runtime, missing.reason);
    }
    text += &missing::lines(&record.missing);
    let _ = writeln!(text, "medians, the least and the most of what was measured");
    for group in &summary.groups {
        text += &of_group(group);
    }
    if !summary.targets.is_empty() {
        text += "\nwanted of Locksley\n";
    }
    for target in &summary.targets {
        let Target { about, most, is } = target;
        let (most, is) = (number(*most), number(*is));
        let _ = writeln!(text, "  {about}: {is}  wanted: at most {most}: {}", target.verdict());
    }
    text
}

fn of_group(group: &Group) -> String {
    let mut text = format!("\n{}: {}\n", group.title(), group.subject.unit());
    let _ = write!(text, "  {:<15}{:>9}{:>9}{:>9}", "runtime", "median", "least", "most");
    let _ = write!(text, "{:>9}", "of tokio");
    let _ = match group.subject.kind {
        Kind::Stream => write!(text, "{:>9}", "apart"),
        Kind::Idle => write!(text, "{:>9}{:>9}", "future", "beyond"),
        Kind::Ring | Kind::Pipeline | Kind::FanOut | Kind::FanIn => Ok(()),
    };
    text.push('\n');
    for Figure { runtime, each, of_tokio, apart, idle } in &group.runtimes {
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
        if let Some(idle) = idle {
            let _ = write!(text, "{:>9}{:>9}", number(idle.future), number(idle.beyond));
        }
        text.push('\n');
    }
    text
}
