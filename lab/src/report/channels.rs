//! The page of `channels`.

use std::path::Path;

use super::circumstances::Circumstances;
use super::figures;
use super::missing;
use super::page::{document, escape, extent};
use crate::experiments::channels::once::{FAN, Kind, RING_CAPACITY, STREAM_CAPACITY};
use crate::experiments::channels::plan::{self, OURS};
use crate::experiments::channels::program::about;
use crate::experiments::channels::record::Record;
use crate::experiments::channels::summary::{Group, Summary, Target};
use crate::experiments::figures::Figure;
use crate::experiments::forkjoin::record::Runtime;
use crate::experiments::number::number;
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
    let targets = targets(summary);
    let sections: String =
        Kind::ALL.map(|kind| section(summary, kind, title(kind), &text(kind))).concat();
    let circumstances = Circumstances::of(record, header.plan.seed).table();
    let (runtimes, method) = (runtimes(record), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · messages and processes · {processors} processors</p>
<h1>{headline}</h1>
{targets}
{extent}
{missing}</header>
{sections}
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>The runtimes</h3>
{runtimes}
{method}
</section>"
    );
    document("Locksley: messages and processes", &body)
}

/// The finding, computed: with one worker, ours and tokio's.
fn headline(summary: &Summary) -> String {
    let beside = |kind: Kind, figure: &dyn Fn(&Figure) -> Option<f64>| {
        let group = summary.of_kind(kind).find(|group| group.workers == 1)?;
        figures::beside_tokio(&group.runtimes, OURS, figure)
    };
    let median = |figure: &Figure| Some(figure.each.median);
    let mut words = Vec::new();
    if let Some((ours, tokio)) = beside(Kind::Stream, &median) {
        words.push(format!("a message takes {ours} ns{tokio}"));
    }
    if let Some((ours, tokio)) = beside(Kind::Ring, &median) {
        words.push(format!("a hop in a ring {ours} ns{tokio}"));
    }
    let beyond = |figure: &Figure| Some(figure.waiting?.beyond);
    if let Some((ours, tokio)) = beside(Kind::Idle, &beyond) {
        words.push(format!("an idle process {ours} bytes beyond its own{tokio}"));
    }
    if words.is_empty() {
        return "What messages and processes cost".to_owned();
    }
    format!("With one worker, {}", words.join(", "))
}

/// What is wanted, and what it comes to.
fn targets(summary: &Summary) -> String {
    if summary.targets.is_empty() {
        return String::new();
    }
    let row = |target: &Target| {
        let mark = if target.is_reached() { "" } else { " class=\"low\"" };
        format!(
            "<tr><th>{}</th><td{mark}>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&target.about),
            number(target.is),
            number(target.most),
            target.verdict()
        )
    };
    let rows: String = summary.targets.iter().map(row).collect();
    format!(
        "<table class=\"shares\">\n<tr><th>of Locksley</th><th>median</th><th>wanted at most</th><th></th></tr>\n{rows}</table>"
    )
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Stream => "One channel",
        Kind::Ring => "A ring",
        Kind::Pipeline => "A pipeline",
        Kind::FanOut => "Fan-out",
        Kind::FanIn => "Fan-in",
        Kind::Idle => "Idle processes",
    }
}

fn text(kind: Kind) -> String {
    match kind {
        Kind::Stream => format!(
            "Numbers through one channel that holds {STREAM_CAPACITY}, from one process to another. Nanoseconds a message. <i>Apart</i> is \
             the share of the messages looked at whose receiver was on another thread than their sender."
        ),
        Kind::Ring => format!(
            "One token goes round; all processes but one wait. Channels hold {RING_CAPACITY}. Nanoseconds a hop: to receive, to send, and to wait again."
        ),
        Kind::Pipeline => format!(
            "Numbers through a row of processes, each of which but the first and the last adds one and passes them on. Channels hold \
             {STREAM_CAPACITY}. Nanoseconds for a message through all of them."
        ),
        Kind::FanOut => format!(
            "One process sends to {FAN} others, to each in turn. Channels hold {STREAM_CAPACITY}. Nanoseconds a message."
        ),
        Kind::FanIn => format!(
            "One process receives from {FAN} others, from each in turn. Channels hold {STREAM_CAPACITY}. Nanoseconds a message."
        ),
        Kind::Idle => "Processes in a row, each of which waits for a message of the one before it, through a channel that holds one. Bytes a process with \
                       its channel, beyond its own future and that one message: what the process has grown by, divided by their \
                       number. Goroutines have no future: their stacks are counted."
            .to_owned(),
    }
}

fn section(summary: &Summary, kind: Kind, title: &str, about: &str) -> String {
    let groups: Vec<&Group> = summary.of_kind(kind).collect();
    if groups.is_empty() {
        return String::new();
    }
    let figure = |group: &&Group| {
        let (title, drawn) = (group.title(), drawn(group));
        figures::figure(&title, drawn, &figures::bars(&title, drawn, &group.runtimes))
    };
    let table = |group: &&Group| {
        let unit = group.subject.unit();
        figures::table(&group.title(), unit, group.besides(), &group.runtimes)
    };
    let (figures, tables): (String, String) =
        (groups.iter().map(figure).collect(), groups.iter().map(table).collect());
    format!(
        "<section>\n<h2>{title}</h2>\n<p>{about}</p>\n<div class=\"gallery wide\">\n{figures}</div>\n{tables}</section>\n"
    )
}

/// What its bars count.
fn drawn(group: &Group) -> &'static str {
    match group.subject.kind {
        Kind::Idle => "bytes a process, beyond its future and its message",
        _ => group.subject.unit(),
    }
}

fn runtimes(record: &Record) -> String {
    let plan = &record.header.plan;
    let row = |runtime: &Runtime| {
        let (name, version) = (escape(&runtime.name), escape(&runtime.version));
        format!("<tr><th>{name}</th><td>{version}: {}</td></tr>\n", escape(about(&runtime.name)))
    };
    let mut rows: String = plan.runtimes.iter().map(row).collect();
    for missing in &plan.left_out {
        let (name, reason) = (escape(&missing.runtime), escape(&missing.reason));
        rows += &format!("<tr><th>{name}</th><td>not measured: {reason}</td></tr>\n");
    }
    format!("<table class=\"facts\">\n{rows}</table>")
}

fn method(record: &Record) -> String {
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Each measurement is made by a process of its own, with fresh workers, after some of the same has gone through to warm up: \
who sends goes on when all of that has been received. The processes of the network take the time. The code is the same for all runtimes of this program, and Go's does the same.</li>
<li>Every answer is checked: what is received is added up, each number times its position, and compared with what a \
program without processes comes to; so is the token, and how often it was passed on.</li>
<li>The runtimes take turns, in up to {} rotations through everything; figures are medians.</li>
<li>The memory of idle processes is what resident memory has grown by since before the first channel was made until the last \
process waited; nothing but what is named is subtracted, also not what building the network left behind.</li>
</ul>
<h3>What to keep in mind</h3>
<ul>
<li>Locksley's channels have one sender, know which process is at either end, and find deadlocks; tokio's and Go's may \
have several senders, and know nothing of each other.</li>
<li>With two workers it is the runtime's choice where processes run. On one thread they share its caches; on two they may work at once.</li>
</ul>",
        record.header.plan.repeats
    )
}
