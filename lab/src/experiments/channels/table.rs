//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::{Summary, Target};
use crate::experiments::figures;
use crate::experiments::heading::heading;
use crate::experiments::missing;
use crate::experiments::number::number;

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
        let title = format!("{}: {}", group.title(), group.subject.unit());
        text += &figures::table(&title, group.besides(), &group.runtimes);
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
