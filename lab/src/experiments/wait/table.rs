//! The summary as text.

use std::fmt::Write;

use super::plan;
use super::record::Record;
use super::summary::Summary;
use crate::experiments::figures;
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
        let title = format!("{}: {}", group.title(), group.subject.unit());
        text += &figures::table(&title, group.besides(), &group.runtimes);
    }
    text
}
