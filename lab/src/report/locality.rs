//! The page of `locality`.

use std::path::Path;

use super::bars;
use super::circumstances::Circumstances;
use super::page::{document, escape};
use crate::experiments::locality::once::{Kind, Placement};
use crate::experiments::locality::plan;
use crate::experiments::locality::record::Record;
use crate::experiments::locality::summary::{Figure, Group, Ignorant, Summary};
use crate::experiments::wait::table::{number, percent};
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
    let extent = if header.plan.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(&header.plan)))
    } else {
        String::new()
    };
    let sections: String = summary.groups.iter().map(section).collect();
    let apps = apps(summary);
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

/// The finding, computed: what the best placement gains over none.
fn headline(summary: &Summary) -> String {
    let gain = |group: &Group| {
        let name = match group.subject.kind {
            Kind::Stress => "cache stress",
            Kind::Sort => "merge sort",
            Kind::Multiply => "matrix multiplication",
        };
        Some(format!("{name} {:.2} times", group.gain()?))
    };
    let gains: Vec<String> = summary.groups.iter().filter_map(gain).collect();
    if gains.is_empty() {
        return "What it is worth to keep work where its data is".to_owned();
    }
    format!("Placed best, as fast as without a place: {}", gains.join(", "))
}

fn section(group: &Group) -> String {
    let title = escape(&group.subject.about());
    let bar = |figure: &Figure| (figure.placement.clone(), figure.time.median * 1e3);
    let bars: Vec<_> = group.placements.iter().map(bar).collect();
    let svg = bars::with_figures(&format!("{title}, milliseconds"), &bars, number);
    let mut rows = String::new();
    for Figure { placement, time, of_ignorant, out_of_place } in &group.placements {
        rows += &format!(
            "<tr><th>{}</th><td title=\"{} times\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
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
         <th>out of place</th></tr>\n{rows}</table>\n</section>\n"
    )
}

fn apps(summary: &Summary) -> String {
    let Some(mean) = summary.of_apps() else { return String::new() };
    let row = |app: &Ignorant| {
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td></tr>\n",
            escape(&app.input.kind),
            escape(&app.input.size),
            number(app.without.median * 1e3),
            number(app.with.median * 1e3),
            app.ratio()
        )
    };
    let rows: String = summary.apps.iter().map(row).collect();
    format!(
        "<section>\n<h2>Applications that know nothing of places</h2>\n<p>With places over without: {mean:.3} in the geometric mean.</p>\n\
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
        "<h3>The places</h3>\n<p>Divided {}; the least cache of one has {} bytes.</p>\n<table class=\"facts\">\n{rows}</table>",
        escape(&division.reason),
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
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>The programs are those of LASSI's study (Weibel, \"An Advanced Scheduler for Intervals\", 2010). Each measurement is made by a \
process of its own with {} fresh workers, and its answer is checked.</li>
<li>Cache stress: one array for each place, of nine tenths of the least cache of one. A task adds and multiplies all the elements of one \
array, once; in the paper, on places of four processors, a hundred times. There are as many tasks for each array, also where places \
are of unequal size. Where nobody names a place, they are spawned in an order by chance: array by array, a worker would come to one of \
them as if it had been placed there. The blocks of the product are spawned row by row.</li>
<li>One worker fills all data before the time begins. So on a machine with several memories the best placement is the best for caches \
only. Only cache stress is gone through once before.</li>
<li>What hits and misses there were in caches is not read. On a simulated machine, whose caches are none, the figures say nothing.</li>
<li>The placements take turns, in up to {} rotations through everything; figures are medians. <i>Out of place</i> is the share of \
tasks that were taken out of the place where they lay, by workers of another one, while time was taken; with mailboxes, where each placed task \
is two, it counts empty letters, and may exceed 100%.</li>
<li>The applications are those of the laboratory, in their quick sizes, and name no place. Without places the pool has one \
(<i>locksley-undivided</i>); with them (<i>locksley-places</i>) the workers are divided into those that are named above, but run where they like.</li>
<li>Where the machine has one cache that all processors share, the places are those of private caches: then a place has one \
worker, and the figures are not those of a machine with several caches that are shared.</li>
</ul>",
        plan.workers, plan.repeats
    )
}
