//! The page of `intervals`.

use std::path::Path;

use super::charts;
use super::circumstances::Circumstances;
use super::missing;
use super::page::{document, escape, figure, key};
use super::tables;
use crate::experiments::cliff::table::seconds;
use crate::experiments::intervals::plan::{self, FORK_JOIN, INTERVALS};
use crate::experiments::intervals::record::Record;
use crate::experiments::intervals::summary::{Figure, Summary, ratios};
use crate::experiments::intervals::table::number;
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let headline = escape(&headline(summary));
    let extent = if plan.times.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(plan)))
    } else {
        String::new()
    };
    let missing = missing::html(&record.missing);
    let runtimes: Vec<&str> = plan.times.runtimes.iter().map(String::as_str).collect();
    let legend = key(&runtimes, false);
    let figures: String = summary
        .times
        .inputs
        .iter()
        .map(|input| figure(input, &charts::speedup(&summary.times, input, &plan.times.workers)))
        .collect();
    let (times, costs) = (times(summary, &plan.times.workers), cost_table(summary));
    let characteristics = tables::characteristics(&summary.times);
    let circumstances = Circumstances {
        machine: &record.header.machine,
        versions: &record.header.versions,
        started: &record.started,
        finished: &record.finished,
        seed: plan.times.seed,
    }
    .table();
    let peer = plan.peer.as_deref().map_or("was not there".to_owned(), escape);
    let (processors, repeats) = (summary.times.capacity, plan.times.repeats);
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · intervals · {processors} processors</p>
<h1>{headline}</h1>
{extent}
{missing}</header>
<section>
<h2>Speedup over the number of workers</h2>
<p>T1/TP, each relative to its own T1.</p>
{legend}
<div class=\"gallery\">
{figures}</div>
</section>
<section>
<h2>Times</h2>
<p>In seconds, over the number of workers. The last line of each application is the time of fork and join over that of the graph \
of intervals, on the same scheduler: above 1, the graph is faster.</p>
{times}
</section>
<section>
<h2>Times with one worker for each processor</h2>
{characteristics}
</section>
<section>
<h2>What an interval costs</h2>
{costs}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>How it was measured</h3>
<ul>
<li>The runtimes take turns, for each number of workers, in up to {repeats} rotations through everything; figures are \
medians. Every answer is checked: heat bit for bit against the serial program, lu by residual, msort by order and content.</li>
<li>All versions of this program have the same kernels; those on graphs divide an application as those with joins do, and static \
partitioning gives each worker one share. The graph of heat has an edge from each block of rows \
to itself and its neighbours in the next step, and nothing else waits; that of lu has tiles of 64 by 64 numbers; the merge sort on \
intervals has them inside of each other, and a root for each sort and each merge, so it is fork and join by other means.</li>
<li>The sorters are those of LASSI's study: each sorts a part alone, and each merger alone merges two neighbours, after both. With places \
(<i>locksley-intervals-places</i>: those of the machine, or else its private caches) a merger is at the place of its left neighbour, or, in the \
worst case, at the next place. Without several places the same graph names none.</li>
<li>Making the graph is a part of the time. One worker makes it, and the others compute meanwhile what may begin.</li>
<li>The time of an interval is that of graphs of 1000 at a time, each interval after the one before and the one before that, which \
count and do nothing else. It is taken by a process of its own, after one such graph to warm up.</li>
<li>oneTBB's flow graph ({peer}) has graphs of the same shape, and the same division of heat, whose kernel is written in C++ there and \
compiled to vector code of the same width. Each of its measurements is a process of its own, which does the same once before, and checks \
its answers bit for bit against a loop. It makes its graph before anything of it runs.</li>
<li>The memory is what a process that has done nothing else has grown by when all were made and none had ended, by their number.</li>
</ul>
</section>"
    );
    document("Locksley: intervals", &body)
}

/// The finding, computed: what the graph gains where there are most workers, on the first application.
fn headline(summary: &Summary) -> String {
    let first = summary.times.inputs.first();
    let most = first.and_then(|input| Some((input, ratios(input).last().copied()?)));
    match most {
        Some((input, most)) => format!(
            "{} workers on {} processors: {} on edges between intervals takes {:.2} of the time with joins",
            most.workers,
            summary.times.capacity,
            input.input.app,
            most.ratio.recip()
        ),
        None => "What order alone makes of the machine".to_owned(),
    }
}

fn times(summary: &Summary, workers: &[usize]) -> String {
    let head: String = workers.iter().map(|workers| format!("<th>{workers}</th>")).collect();
    let mut rows = String::new();
    for input in &summary.times.inputs {
        for (place, runtime) in input.runtimes.iter().enumerate() {
            let name = format!("{} {}", input.input.app, input.input.size);
            let cell = |workers: &usize| match runtime.points.iter().find(|p| p.workers == *workers)
            {
                Some(point) => format!(
                    "<td title=\"from {} to {}, {} times\">{}</td>",
                    seconds(point.times.least),
                    seconds(point.times.most),
                    point.times.number,
                    seconds(point.times.median)
                ),
                None => "<td></td>".to_owned(),
            };
            let cells: String = workers.iter().map(cell).collect();
            let (class, name) =
                if place == 0 { (" class=\"first\"", escape(&name)) } else { ("", String::new()) };
            rows += &format!(
                "<tr{class}><th>{name}</th><th>{}</th>{cells}</tr>\n",
                escape(&runtime.runtime)
            );
        }
        let ratios = ratios(input);
        let cell = |workers: &usize| match ratios.iter().find(|ratio| ratio.workers == *workers) {
            Some(ratio) => format!("<td>{:.2}</td>", ratio.ratio),
            None => "<td></td>".to_owned(),
        };
        let cells: String = workers.iter().map(cell).collect();
        rows += &format!(
            "<tr class=\"aside\"><th></th><th>{FORK_JOIN} over {INTERVALS}</th>{cells}</tr>\n"
        );
    }
    format!("<table>\n<tr><th>application</th><th>runtime, P =</th>{head}</tr>\n{rows}</table>")
}

fn cost_table(summary: &Summary) -> String {
    let row = |Figure { runtime, about, unit, each }: &Figure| {
        format!(
            "<tr><th>{}</th><th>{}</th><td title=\"{} times\">{}</td><td>{}</td><td>{}</td><td>{unit}</td></tr>\n",
            escape(runtime),
            escape(about),
            each.number,
            number(each.median),
            number(each.least),
            number(each.most)
        )
    };
    let rows: String = summary.costs.iter().map(row).collect();
    format!(
        "<table class=\"numbers\">\n<tr><th></th><th></th><th>median</th><th>least</th><th>most</th><th></th></tr>\n{rows}</table>"
    )
}
