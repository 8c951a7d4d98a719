//! Applications side by side: figures 2 and 3 of the paper, and the figures after them.

use super::averages::averages;
use super::charts::{figure, single, slowdowns_on};
use super::{alternatives, switches, thresholds, variation};
use crate::experiments::corun::pairs::{self, GROUPS, Part};
use crate::experiments::corun::plan::ON_APPLICATIONS;
use crate::experiments::corun::summary::Summary;

pub(super) fn applications(summary: &Summary) -> String {
    if summary.part(Part::Applications).next().is_none() {
        return String::new();
    }
    let common = ON_APPLICATIONS;
    let mut figures = String::new();
    for (letter, shows) in GROUPS {
        let group = || {
            let of_group = summary.part(Part::Applications);
            of_group.filter(move |found| pairs::group(&found.pair) == letter)
        };
        if group().next().is_none() {
            continue;
        }
        let slowdowns = slowdowns_on(&common, &format!("slowdowns, pairs ({letter})"), group());
        let throughputs = single(
            &format!("throughput, pairs ({letter})"),
            "throughput",
            group(),
            &common,
            |balance| Some(balance.throughput),
            |value| format!("{value:.2}"),
        );
        figures += &format!(
            "<h3>({letter}) {shows}</h3>\n{}<div class=\"gallery wide\">\n{}{}</div>\n",
            averages(&summary.averages(group(), &common)),
            figure("Slowdowns", "figure 2", &slowdowns),
            figure("Throughput", "figure 3", &throughputs)
        );
    }
    format!(
        "<section>
<h2>Applications side by side</h2>
<p>Each is computed again and again; only computations count during which the other one computed from beginning to end.</p>
{figures}
{}{}{}{}</section>
",
        switches::switches(summary),
        variation::variations(summary, &common),
        alternatives::alternatives(summary),
        thresholds::thresholds(summary)
    )
}
