//! The page of `model`: utilization over the normalized number of processes, and the constants.

use std::fmt::Write;
use std::path::Path;

use super::bound::{self, METHOD, UTILIZATION};
use super::circumstances::Circumstances;
use super::page::{disturbance, document, escape, extent};
use crate::experiments::cliff::table::seconds;
use crate::experiments::model::plan;
use crate::experiments::model::record::Record;
use crate::experiments::model::summary::Summary;
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

fn html(record: &Record, summary: &Summary) -> String {
    let finding = bound::finding(&summary.bound);
    let headline = escape(&finding.unwrap_or_else(|| UTILIZATION.to_owned()));
    let extent = extent(record.plan.quick.then(|| plan::subset(&record.plan)));
    let disturbance = disturbance(summary.taken);
    let pa = "PA is min(P, processors).";
    let sections = bound::sections(&summary.bound, pa);
    let inputs = inputs(record, summary);
    let circumstances = Circumstances {
        machine: &record.machine,
        versions: &record.versions,
        started: &record.started,
        finished: &record.finished,
        seed: record.plan.seed,
    }
    .table();
    let (processors, repeats) = (summary.capacity, record.plan.repeats);
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · the model · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Figures 2 and 4 of Hood's papers (1998): T = c1·T1/PA + c∞·T∞·P/PA.</p>
{extent}
{disturbance}</header>
{sections}
<section>
<h2>In figures</h2>
<p>T1 is the time with one worker, T∞ the critical path as the meter has it there, both in seconds; <i>metered</i> is the work as the meter \
has it, relative to T1, and T1/T∞ is the ratio of what the meter has of both, since metering makes both longer. Then the utilization for each P.</p>
{inputs}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>How it was measured</h3>
<ul>
<li>In up to {repeats} rotations through everything; figures are medians, and utilizations those of the rotations, each with the T1 and \
TP of its own, since a shared machine is now faster and now slower. Each time is the second computation of a pool: the first fills \
its caches. Every answer is checked.</li>
<li>Times are taken without the meter. T1 and T∞ are those of one worker: with more workers than processors, what a worker is \
suspended in the middle of a strand would be in both.</li>
<li>PA is taken as min(P, processors), as if the machine were ours.</li>
<li>One worker's points, whose utilization is 1 by definition, are left out of constants and envelope.</li>
{METHOD}
</ul>
</section>"
    );
    document("Locksley: the model", &body)
}

fn inputs(record: &Record, summary: &Summary) -> String {
    let head: String =
        record.plan.workers.iter().map(|workers| format!("<th>{workers}</th>")).collect();
    let mut rows = String::new();
    for input in &summary.bound.computations {
        let cells: String = record
            .plan
            .workers
            .iter()
            .map(|&workers| match input.at(workers, None) {
                Some(point) => format!(
                    "<td title=\"at {:.3}\">{:.2}</td>",
                    point.normalized, point.utilization
                ),
                None => "<td></td>".to_owned(),
            })
            .collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            rows,
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td>{cells}</tr>",
            escape(&input.name()),
            seconds(input.work),
            seconds(input.critical_path),
            bound::parallelism(input),
            input.metered
        );
    }
    format!(
        "<table class=\"numbers\">\n<tr><th>input</th><th>T1</th><th>T∞</th><th>T1/T∞</th><th>metered</th>{head}</tr>\n{rows}</table>"
    )
}
