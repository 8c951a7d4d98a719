//! The page of `meter`.

use std::path::Path;

use super::circumstances::Circumstances;
use super::dots::{Dots, Row as Dot};
use super::missing;
use super::page::{document, escape, extent};
use crate::experiments::estimate::{Estimate, Verdict};
use crate::experiments::meter::once::{Kind, Subject};
use crate::experiments::meter::plan::{self, LEAST_LEAF};
use crate::experiments::meter::record::Record;
use crate::experiments::meter::summary::{Figure, Summary};
use crate::experiments::meter::table::{self, METHOD, Row, cost};
use crate::experiments::number::percent_more;
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let header = &record.header;
    let processors = header.machine.capacity();
    let headline = escape(&headline(summary));
    let extent = extent(header.plan.quick.then(|| plan::subset(&header.plan)));
    let missing = missing::html(&record.missing);
    let sections = Kind::ALL.map(|kind| section(summary, kind)).concat();
    let circumstances = Circumstances::of(record, header.plan.seed).table();
    let method = method(record);
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · what the profiler costs · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Figures are {METHOD}.</p>
{extent}
{missing}</header>
{sections}
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: what the profiler costs", &body)
}

/// The finding, computed: for each of the three targets the dearest that it is about.
fn headline(summary: &Summary) -> String {
    let say = |what: &str, kind: Kind, found: Estimate, verdict: Verdict| {
        let unit = if kind.is_ratio() { " longer" } else { " ns more" };
        format!("{what} {}{unit} ({})", cost(kind, found.figure), verdict.word())
    };
    let is_shortest = |figure: &&Figure| matches!(figure.subject, Subject::Leaves { nanos, .. } if nanos == LEAST_LEAF);
    let fork = summary.figures.iter().find(|figure| matches!(figure.subject, Subject::Fork(_)));
    let leaves = summary.figures.iter().filter(is_shortest).max_by(|a, b| dearer(a.cost, b.cost));
    let apps = summary.means.iter().max_by(|a, b| dearer(a.cost, b.cost));
    let words: Vec<String> = [
        fork.and_then(|it| Some(say("a fork takes", Kind::Fork, it.cost, it.verdict()?))),
        leaves.and_then(|it| {
            Some(say("a program with leaves of 1 µs", Kind::Leaves, it.cost, it.verdict()?))
        }),
        apps.map(|it| say("the applications", Kind::Apps, it.cost, it.verdict())),
    ]
    .into_iter()
    .flatten()
    .collect();
    if words.is_empty() {
        return "What the profiler costs".to_owned();
    }
    format!("Profiled, {}", words.join(", "))
}

fn dearer(a: Estimate, b: Estimate) -> std::cmp::Ordering {
    a.figure.total_cmp(&b.figure)
}

/// The title of a kind, and what it is about.
fn about(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Fork => (
            "Forks",
            "A Fibonacci number, doubly recursive, on one worker: nothing but forks. Nanoseconds a \
             fork. <i>Functions in turn</i> is in records of the former meter only: each join is \
             in another function than the one around it.",
        ),
        Kind::Leaves => (
            "Leaves",
            "A tree of joins whose leaves compute for so long. There is a target from leaves of 1 µs on.",
        ),
        Kind::Regions => (
            "Regions",
            "What <code>Profiler::measure</code> takes for a task that does nothing, and what \
             <code>Pool::install</code> does: to count what the pool has done before and after, and to \
             ask the system. This is in none of the other figures, and there is no target.",
        ),
        Kind::Apps => {
            ("Applications", "Those of the laboratory, in their quick sizes. Milliseconds.")
        }
    }
}

fn section(summary: &Summary, kind: Kind) -> String {
    let rows = table::rows(summary, kind);
    if rows.is_empty() {
        return String::new();
    }
    let (title, about) = about(kind);
    let (unit, cost) = (kind.unit(), if kind.is_ratio() { "longer" } else { "more" });
    let chart = chart(summary, kind);
    let rows: String = rows.iter().map(line).collect();
    format!(
        "<section>\n<h2>{title}</h2>\n<p>{about}</p>\n{chart}\
         <table class=\"numbers\">\n<tr><th></th><th>off, {unit}</th><th>on</th><th>{cost}</th><th>interval</th><th>at most</th>\
         <th></th></tr>\n{rows}</table>\n</section>\n"
    )
}

fn line(row: &Row) -> String {
    let Row { name, figures: [off, on, cost, interval], target, verdict } = row;
    let mark = if *verdict == Verdict::Missed.word() { " class=\"low\"" } else { "" };
    format!(
        "<tr><th>{}</th><td>{off}</td><td>{on}</td><td{mark}>{cost}</td><td>{interval}</td><td>{target}</td><td>{verdict}</td></tr>\n",
        escape(name)
    )
}

/// The intervals, where there are several to look at.
fn chart(summary: &Summary, kind: Kind) -> String {
    let mut subjects: Vec<(String, Vec<Dot>)> = Vec::new();
    for figure in summary.of_kind(kind).filter(|_| kind.is_ratio()) {
        let Estimate { figure: median, low, high } = figure.cost;
        let dot = Dot {
            runtime: format!("P = {}", figure.workers),
            values: [median, low, high].map(percent_more).to_vec(),
            figures: cost(kind, median),
        };
        let name = figure.subject.about();
        match subjects.last_mut() {
            Some((last, dots)) if *last == name => dots.push(dot),
            _ => subjects.push((name, vec![dot])),
        }
    }
    if subjects.is_empty() {
        return String::new();
    }
    let title =
        format!("{}: by how many percent all takes longer when it is profiled", table::title(kind));
    let svg = Dots { title, unit: "% longer", subjects }.svg();
    format!(
        "<figure>\n<figcaption><b>By how many percent all takes longer</b> <span>the large full dot is the median, the line the interval</span></figcaption>\n\
         {svg}</figure>\n"
    )
}

fn method(record: &Record) -> String {
    let plan = &record.header.plan;
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Each measurement is made by a process of its own, with two pools, one of which has a \
profiler. It computes the same again and again, by <code>Pool::install</code> on the one and by \
<code>Profiler::measure</code> on the other (records of the former meter: on one pool, which had \
the meter): a pair of computations next to each other in time, of which now the one comes first and \
now the other. So what changes the machine's speed for longer than a computation takes changes both. A \
process makes up to {} pairs, for {} s at most but for the last two, after one of either kind.</li>
<li>The time is taken on the worker, around the computation: what it takes to begin a region and to make its report is under <i>Regions</i>.</li>
<li>All is measured in up to {} rotations. A figure is the median over the pairs of all rotations, of their differences (forks, regions) or of their \
ratios (leaves, applications). Its interval is that of the bootstrap, by percentiles: rotations are drawn, and pairs of each; so it has what differs \
between processes, if there are several rotations. Of the mean of the applications each is drawn by itself.</li>
<li>One in twenty such intervals does not have what it should: of many verdicts, one or two may be wrong.</li>
<li>Every answer is checked; of forks and leaves also that \
the profiler has counted all forks. Instructions are counted by <code>forkjoin</code>.</li>
<li>The leaves are steps of xorshift64, as many as take the time that is named where the machine is at its quickest.</li>
</ul>",
        plan.pairs, plan.seconds, plan.repeats
    )
}
