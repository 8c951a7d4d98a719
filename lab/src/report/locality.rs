//! The page of `locality`.

use std::path::Path;

use super::bars;
use super::circumstances::Circumstances;
use super::page::{document, escape};
use crate::experiments::locality::once::{Kind, Placement};
use crate::experiments::locality::record::Record;
use crate::experiments::locality::summary::{Figure, Group, Ignorant, Summary};
use crate::experiments::locality::table;
use crate::experiments::number::{number, percent};
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
    let headline = escape(&headline(record, summary));
    let note = |note: String| format!("<p class=\"note\">{}.</p>\n", escape(&note));
    let extent: String = table::notes(record, summary).into_iter().map(note).collect();
    let has_counts = summary.has_counts();
    let sections: String = summary.groups.iter().map(|group| section(group, has_counts)).collect();
    let apps: String = header.plan.numbers().map(|workers| apps(summary, workers)).collect();
    let circumstances = Circumstances {
        machine: &header.machine,
        versions: &header.versions,
        started: &record.started,
        finished: &record.finished,
        seed: header.plan.seed,
    }
    .table();
    let (places, placements, method) = (places(record), placements(record), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · places · {processors} processors</p>
<h1>{headline}</h1>
{extent}
</header>
{sections}
{apps}
<section>
<h2>Machine and method</h2>
{circumstances}
{places}
<h3>The placements</h3>
{placements}
{method}
</section>"
    );
    document("Locksley: places", &body)
}

/// The finding, computed: what the best placement gains over none. Of several sizes it is told of the last one, which is that of the caches.
fn headline(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let gain = |kind: Kind| {
        let name = match kind {
            Kind::Stress => "cache stress",
            Kind::Sort => "merge sort",
            Kind::Multiply => "matrix multiplication",
        };
        let is_it = |group: &&Group| group.subject.kind == kind && group.workers == plan.workers;
        let gain = summary.groups.iter().rfind(is_it)?.gain()?;
        Some(format!("{name} {gain:.2} times"))
    };
    let gains: Vec<String> = Kind::ALL.into_iter().filter_map(gain).collect();
    if gains.is_empty() {
        return "What it is worth to keep work where its data is".to_owned();
    }
    let simulated = if plan.simulated.is_some() { " (on a simulated machine)" } else { "" };
    format!("Placed best, as fast as without a place{simulated}: {}", gains.join(", "))
}

fn section(group: &Group, has_counts: bool) -> String {
    let title = escape(&format!("{}, P = {}", group.subject.about(), group.workers));
    let bar = |figure: &Figure| (figure.placement.clone(), figure.time.median * 1e3);
    let bars: Vec<_> = group.placements.iter().map(bar).collect();
    let svg = bars::with_figures(&format!("{title}, milliseconds"), &bars, number);
    let mut rows = String::new();
    for Figure { placement, time, of_ignorant, out_of_place, counts } in &group.placements {
        let counted = match counts {
            Some(counts) => {
                format!("<td>{}</td><td>{}</td>", counts.hits / 1000, counts.misses / 1000)
            }
            None if has_counts => "<td></td><td></td>".to_owned(),
            None => String::new(),
        };
        rows += &format!(
            "<tr><th>{}</th><td title=\"{} times\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{counted}</tr>\n",
            escape(placement),
            time.number,
            number(time.median * 1e3),
            number(time.least * 1e3),
            number(time.most * 1e3),
            of_ignorant.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            percent(*out_of_place)
        );
    }
    format!(
        "<section>\n<h2>{title}</h2>\n<figure>\n<figcaption><b>{title}</b> <span>milliseconds</span></figcaption>\n{svg}</figure>\n\
         <table class=\"numbers\">\n<tr><th>placement</th><th>ms</th><th>least</th><th>most</th><th>of ignorant</th>\
         <th>out of place</th>{}</tr>\n{rows}</table>\n</section>\n",
        if has_counts { "<th>thousand hits</th><th>thousand misses</th>" } else { "" }
    )
}

fn apps(summary: &Summary, workers: usize) -> String {
    let Some(mean) = summary.of_apps(workers) else { return String::new() };
    let row = |app: &Ignorant| {
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td></tr>\n",
            escape(&app.input.kind),
            escape(&app.input.size),
            number(app.without.median * 1e3),
            number(app.with.median * 1e3),
            app.ratio
        )
    };
    let apps = summary.apps.iter().filter(|app| app.workers == workers);
    let rows: String = apps.map(row).collect();
    format!(
        "<section>\n<h2>Applications that know nothing of places, P = {workers}</h2>\n<p>With places over without: {mean:.3} in the geometric mean. A ratio is the median of those of each rotation.</p>\n\
         <table class=\"numbers\">\n<tr><th>application</th><th>size</th><th>ms without</th><th>ms with</th><th>ratio</th></tr>\n\
         {rows}</table>\n</section>\n"
    )
}

fn places(record: &Record) -> String {
    let division = &record.header.plan.division;
    let row = |(place, set): (usize, &String)| {
        format!("<tr><th>place {place}</th><td>processors {}</td></tr>\n", escape(set))
    };
    let rows: String = division.places.iter().enumerate().map(row).collect();
    format!(
        "<h3>The places</h3>\n<p>Divided {}; the least cache {}of one has {} bytes.</p>\n<table class=\"facts\">\n{rows}</table>",
        escape(&division.reason),
        if division.kind.is_empty() {
            String::new()
        } else {
            format!("({}) ", escape(&division.kind))
        },
        division.cache
    )
}

fn placements(record: &Record) -> String {
    let row = |name: &String| {
        let about = Placement::find(name).map_or("", Placement::about);
        format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(name), escape(about))
    };
    let rows: String = record.header.plan.placements.iter().map(row).collect();
    format!("<table class=\"facts\">\n{rows}</table>")
}

fn method(record: &Record) -> String {
    let plan = &record.header.plan;
    let fewer = plan.fewer.map_or(String::new(), |fewer| {
        format!(" The best placement and none of cache stress, and the applications, are also measured with P = {fewer}: most pools are small.")
    });
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>The programs are those of LASSI's study (Weibel, \"An Advanced Scheduler for Intervals\", 2010). Each measurement is made by a \
process of its own with {} fresh workers, and its answer is checked.{fewer}</li>
<li>Cache stress: one array for each place. It has 8 MB, as in the paper, if the third caches divide the machine; and nine tenths of the \
least cache of a place, which the paper's 8 MB were on its machine: one array fits, two do not. A task adds and multiplies all the elements of one \
array, once; in the paper, on places of four processors, a hundred times. There are as many tasks for each array, also where places \
are of unequal size.</li>
<li><i>Who spawns what when.</i> Where nobody names a place, a task goes where the order of spawning takes it, and a comparison would hang on a loop. So it \
is in an order by chance (<i>ignorant</i>), by the data (<i>ignorant-by-data</i>: a thief, who takes the oldest, and the owner, who takes the \
newest, come to different data without knowing it, which is as good as being placed as long as nothing disturbs them), and by the data in turn \
(<i>ignorant-in-turn</i>: everybody comes to everything). Where places are named, the tasks of cache stress are spawned in turn, and the blocks of \
the product row by row. The sort spawns two halves at a time, and has no order to choose.</li>
<li><i>First touch.</i> All data, input and results, is filled before the time begins, in parallel, and by the same rule as it is used: each part by a \
worker of the place that the placement names for a task on that part. So the best placement finds its data in its own memory; with the worst and \
with chance it lies in pages of all memories in turn or by chance; and where nobody names a place, in that of who came first. Nobody is made to \
use data that one worker alone has filled, which would all lie in one memory: that is slow for whoever is far from there, however tasks are placed. \
Where there is one memory only, all this is no matter. Only cache stress is gone through once before the time begins.</li>
<li>Hits and misses are those of reads of data by all workers in the caches that divide the places, while time was taken, as the kernel counts them \
(<i>perf_event</i>); what misses the first cache is what comes to the second, and what comes to the last has missed those before it.</li>
<li>The placements take turns, in up to {} rotations through everything, of which the multiplication is in the first few; figures are medians. <i>Out of place</i> is the share of \
tasks that were taken out of the place where they lay, by workers of another one, while time was taken; with mailboxes, where a task may lie in two, of \
those that were run at another place than that of their mailbox.</li>
<li>The applications are those of the laboratory, in their quick sizes, and name no place. Without places the pool has one \
(<i>locksley-undivided</i>); with them (<i>locksley-places</i>) the workers are divided into those that are named above, but run where they like.</li>
<li>Where the machine has one cache that all processors share, the places are those of private caches: then a place has one \
worker, and the figures are not those of a machine with several caches that are shared.</li>
</ul>",
        plan.workers, plan.repeats
    )
}
