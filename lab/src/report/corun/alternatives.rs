//! Figure 5 of the paper: what it compares with.

use super::charts::figure;
use crate::experiments::corun::pairs::{Part, STATED};
use crate::experiments::corun::summary::{Average, Summary};
use crate::report::dots::{Dots, Row};

pub(super) fn alternatives(summary: &Summary) -> String {
    let all = summary.runtimes(Part::Applications);
    let averages = summary.averages(summary.part(Part::Applications), &all);
    if averages.is_empty() || all.len() < 2 {
        return String::new();
    }
    let chart = |title: &str, unit, value: fn(&Average) -> f64, digits: usize| {
        let row = |average: &Average| Row {
            runtime: average.runtime.clone(),
            values: vec![value(average)],
            figures: format!("{:.digits$}", value(average)),
        };
        let subjects = vec![(String::new(), averages.iter().map(row).collect())];
        Dots { title: title.to_owned(), unit, subjects }.svg()
    };
    let unfairness = chart("unfairness", "points", |average| 100.0 * average.unfairness, 0);
    let throughput = chart("throughput", "throughput", |average| average.throughput, 2);
    let stated = STATED.join(", ");
    format!(
        "<h3>Alternatives, figure 5</h3>
<p>Averages over the pairs on which all of these were measured: {} (of {stated}).</p>
<div class=\"gallery wide\">\n{}{}</div>\n",
        averages[0].pairs,
        figure("Unfairness", "in percentage points", &unfairness),
        figure("Throughput", "weighted speedup", &throughput)
    )
}
