//! The page of `model`: utilization over the normalized number of processes, and the constants.

use std::fmt::Write;
use std::path::Path;

use super::circumstances::Circumstances;
use super::page::{document, escape};
use super::points::{Group, Points};
use crate::experiments::cliff::table::seconds;
use crate::experiments::model::plan::{self, KNARY};
use crate::experiments::model::record::Record;
use crate::experiments::model::summary::{InputSummary, Summary};
use crate::experiments::model::{fit, table};
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The curves of the papers' figures.
const CURVES: [(f64, f64); 2] = [(1.0, 1.0), (1.1, 2.0)];

fn html(record: &Record, summary: &Summary) -> String {
    let headline = escape(&headline(summary));
    let extent = if record.plan.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(&record.plan)))
    } else {
        String::new()
    };
    let chart = |title: &str, is_wanted: &dyn Fn(&InputSummary) -> bool| {
        let svg = points(title, summary, is_wanted).svg();
        format!("<figure>\n<figcaption><b>{}</b></figcaption>\n{svg}</figure>\n", escape(title))
    };
    let charts = chart("knary", &|input| input.app == KNARY)
        + &chart("the other applications", &|input| input.app != KNARY);
    let constants: String = table::constants(summary)
        .iter()
        .map(|line| format!("<li>{}.</li>\n", escape(line)))
        .collect();
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
</header>
<section>
<h2>Utilization over the normalized number of processes</h2>
<p>T1/(PA·TP) over P/(T1/T∞): how well the processors are used, over the number of workers as a multiple of the parallelism. The \
dashed lines are the model with (c1, c∞) = (1, 1), above, and (1.1, 2), below; the full one is the model with the constants fitted to \
all points.</p>
<div class=\"gallery\">
{charts}</div>
</section>
<section>
<h2>The constants</h2>
<ul>
{constants}</ul>
</section>
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
<li>In up to {repeats} rotations through everything; figures are medians. Each time is the second computation of a pool: the first fills \
its caches. Every answer is checked.</li>
<li>Times are taken without the meter. T1 and T∞ are those of one worker: with more workers than processors, what a worker is \
suspended in the middle of a strand would be in both.</li>
<li>PA is taken as min(P, processors), as if the machine were ours.</li>
<li>The constants are fitted to 1 = c1·U + c∞·x·U by least squares: the errors are those of the predicted time, relative to the \
measured one. One worker's points, whose utilization is 1 by definition, are left out. The intervals are those of the jackknife over inputs.</li>
</ul>
</section>"
    );
    document("Locksley: the model", &body)
}

fn headline(summary: &Summary) -> String {
    match summary.fits[2].1 {
        Some(fit) => format!(
            "On up to {} workers programs take {:.2}·T1/PA + {:.2}·T∞·P/PA, give or take {:.0}%",
            summary.inputs.iter().flat_map(|i| &i.points).map(|p| p.workers).max().unwrap_or(1),
            fit.c1,
            fit.c_inf,
            100.0 * fit.mean_error
        ),
        None => "Utilization over the normalized number of processes".to_owned(),
    }
}

fn points(title: &str, summary: &Summary, is_wanted: &dyn Fn(&InputSummary) -> bool) -> Points {
    let curve = |c1: f64, c_inf: f64| move |x: f64| fit::utilization(c1, c_inf, x);
    let dashed =
        CURVES.into_iter().map(|(c1, c_inf)| Box::new(curve(c1, c_inf)) as Box<dyn Fn(f64) -> f64>);
    let full =
        summary.fits[2].1.map(|fit| Box::new(curve(fit.c1, fit.c_inf)) as Box<dyn Fn(f64) -> f64>);
    let points = |input: &InputSummary| -> Vec<(f64, f64)> {
        input.points.iter().map(|point| (point.normalized, point.utilization)).collect()
    };
    let groups = summary.inputs.iter().filter(|input| is_wanted(input)).map(|input| Group {
        title: format!("{} {}", input.app, input.size),
        points: points(input),
    });
    Points {
        title: format!("utilization of {title} over the normalized number of processes"),
        across: "P/(T1/T∞)",
        unit: "utilization",
        dashed: dashed.collect(),
        full,
        groups: groups.collect(),
    }
}

fn inputs(record: &Record, summary: &Summary) -> String {
    let head: String =
        record.plan.workers.iter().map(|workers| format!("<th>{workers}</th>")).collect();
    let mut rows = String::new();
    for input in &summary.inputs {
        let cells: String = record
            .plan
            .workers
            .iter()
            .map(|&workers| match input.points.iter().find(|point| point.workers == workers) {
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
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{:.1}{}</td><td>{:.2}</td>{cells}</tr>",
            escape(&format!("{} {}", input.app, input.size)),
            seconds(input.work),
            seconds(input.critical_path),
            input.parallelism(),
            if input.is_whole { "" } else { " at most" },
            input.metered
        );
    }
    format!(
        "<table class=\"numbers\">\n<tr><th>input</th><th>T1</th><th>T∞</th><th>T1/T∞</th><th>metered</th>{head}</tr>\n{rows}</table>"
    )
}
