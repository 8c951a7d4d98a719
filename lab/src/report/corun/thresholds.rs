//! Figure 6 of the paper: its algorithm with different values of SleepThreshold.

use super::charts::figure;
use crate::experiments::corun::pairs::{Part, STATED};
use crate::experiments::corun::plan::BWS;
use crate::experiments::corun::summary::{Average, Summary};
use crate::report::chart::Chart;

pub(super) fn thresholds(summary: &Summary) -> String {
    let found = summary.thresholds();
    if found.len() < 2 {
        return String::new();
    }
    let values: Vec<usize> = found.iter().map(|(value, _)| *value as usize).collect();
    let ours = summary.averages(
        summary.part(Part::Applications).filter(|pair| STATED.contains(&pair.pair.name.as_str())),
        &["locksley"],
    );
    let chart = |title: &str, unit, value: fn(&Average) -> f64| {
        let line = |average: Option<&Average>, name: &str, points: Vec<(usize, f64)>| {
            average.map(|_| (name.to_owned(), points))
        };
        let swept = found.iter().map(|(at, average)| (*at as usize, value(average))).collect();
        let level = ours.first().map_or(0.0, value);
        let flat = values.iter().map(|&at| (at, level)).collect();
        let lines = [line(Some(&found[0].1), BWS, swept), line(ours.first(), "locksley", flat)];
        Chart {
            title: format!("{title} over SleepThreshold"),
            unit,
            across: "SleepThreshold",
            workers: values.clone(),
            processors: 1.0,
            ideal: Vec::new(),
            ceiling: Vec::new(),
            lines: lines.into_iter().flatten().collect(),
        }
        .svg()
    };
    let unfairness =
        chart("unfairness", "unfairness, points", |average| 100.0 * average.unfairness);
    let throughput = chart("throughput", "throughput", |average| average.throughput);
    format!(
        "<h3>SleepThreshold, figure 6</h3>
<p>The paper's algorithm ({BWS}) with different values, averages over {} pairs; the level line is Locksley's default governor on \
the same pairs.</p>
<div class=\"gallery\">\n{}{}</div>\n",
        found[0].1.pairs,
        figure("Unfairness", "in percentage points", &unfairness),
        figure("Throughput", "weighted speedup", &throughput)
    )
}
