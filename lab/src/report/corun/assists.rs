//! What the kernel's assists are worth: the default governor without one of them at a time, and without any.

use super::averages::averages;
use super::charts::figure;
use super::pairs::table;
use crate::experiments::corun::pairs::Part;
use crate::experiments::corun::summary::{Average, PairSummary, Summary};
use crate::report::dots::{Dots, Row};

pub(super) fn assists(summary: &Summary) -> String {
    let pairs: Vec<&PairSummary> = summary.part(Part::Assists).collect();
    let runtimes = summary.runtimes(Part::Assists);
    let means = summary.averages(pairs.iter().copied(), &runtimes);
    let Some(first) = means.first() else { return String::new() };
    let row = |average: &Average| Row {
        runtime: average.runtime.clone(),
        values: vec![100.0 * average.unfairness],
        figures: format!("{:.0}", 100.0 * average.unfairness),
    };
    let subjects = vec![(String::new(), means.iter().map(row).collect())];
    let title = "unfairness without assists".to_owned();
    let chart = Dots { title, unit: "points", subjects }.svg();
    format!(
        "<section>
<h2>Without the kernel's help</h2>
<p>The default governor with one of the kernel's assists switched off at a time, and with all: averages over {} pairs of the target \
table. It makes no use of lowered priority and of short turns, so the rows without these two show what chance makes of one and the \
same program.</p>
<div class=\"gallery wide\">
{}</div>
{}{}
</section>
",
        first.pairs,
        figure("Unfairness", "in percentage points", &chart),
        averages(&means),
        table(&pairs)
    )
}
