//! Figure 4 of the paper: how much the times of computations vary.

use super::charts::figure;
use crate::experiments::corun::summary::Summary;
use crate::report::dots::{Dots, Row};

pub(super) fn variations(summary: &Summary, runtimes: &[&str]) -> String {
    let row = |runtime: &str, value: f64| Row {
        runtime: runtime.to_owned(),
        values: vec![100.0 * value],
        figures: format!("{:.1}", 100.0 * value),
    };
    let mut by_app: Vec<(String, Vec<Row>)> = Vec::new();
    let mut by_type: Vec<(String, Vec<Row>)> = Vec::new();
    let add = |subjects: &mut Vec<(String, Vec<Row>)>, subject: String, row: Row| match subjects
        .iter_mut()
        .find(|(name, _)| *name == subject)
    {
        Some((_, rows)) => rows.push(row),
        None => subjects.push((subject, vec![row])),
    };
    for runtime in runtimes {
        for (app, value) in summary.variations(runtime) {
            add(&mut by_app, app, row(runtime, value));
        }
        for (kind, value) in summary.variations_by_type(runtime) {
            add(&mut by_type, format!("type {kind}"), row(runtime, value));
        }
    }
    by_type.sort_by(|a, b| a.0.cmp(&b.0));
    let chart = |title: &str, subjects| Dots { title: title.to_owned(), unit: "%", subjects }.svg();
    format!(
        "<h3>Variation of the times, figure 4</h3>
<p>The coefficient of variation, averaged over the co-runs of an application, and over types of executions: 1, one of group 2 \
beside another; 2, one of group 2 beside one of group 1; 3, one of group 1 beside one of group 2; 4, one of group 1 beside \
another.</p>
<div class=\"gallery wide\">\n{}{}</div>\n",
        figure("(a)", "by application", &chart("variation by application", by_app)),
        figure("(b)", "by type of execution", &chart("variation by type of execution", by_type))
    )
}
