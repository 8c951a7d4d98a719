//! The page of `wait`.

use std::path::Path;

use super::chart::Chart;
use super::circumstances::Circumstances;
use super::figures;
use super::missing;
use super::page::{document, escape, extent, looks};
use crate::experiments::figures::Figure;
use crate::experiments::wait::once::{self, Kind};
use crate::experiments::wait::plan;
use crate::experiments::wait::record::Record;
use crate::experiments::wait::summary::{Group, Summary};
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
    let sections: String = [
        (
            Kind::Spawn,
            "Spawn and await",
            "A task spawns an empty one and awaits it, again and again. Nanoseconds each.",
        ),
        (
            Kind::PingPong,
            "Ping-pong",
            "Two tasks wake each other in turn, over two semaphores. Nanoseconds a round trip. <i>Apart</i> is the share of the \
             rounds in which the two were on different threads, which have to wake each other then.",
        ),
        (
            Kind::Waiting,
            "Waiting tasks",
            "All of them wait for one semaphore. Bytes a task, beyond its own future: what the process has grown by, divided by \
             their number, less the size of the future that was spawned.",
        ),
        (
            Kind::Fork,
            "Threads that are forked and signal",
            "A task creates threads, in Hood's sense of the word, and waits until each of them has sent a signal. Nanoseconds a \
             thread.",
        ),
    ]
    .map(|(kind, title, about)| section(summary, kind, title, about))
    .concat();
    let circumstances = Circumstances::of(record, header.plan.seed).table();
    let (runtimes, method) = (runtimes(record), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · tasks that wait · {processors} processors</p>
<h1>{headline}</h1>
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
    document("Locksley: tasks that wait", &body)
}

/// The finding, computed: the smallest things with one worker, ours and tokio's.
fn headline(summary: &Summary) -> String {
    let beside = |kind: Kind, figure: &dyn Fn(&Figure) -> Option<f64>| {
        let group = summary.of_kind(kind).find(|group| group.workers == 1)?;
        figures::beside_tokio(&group.runtimes, "locksley", figure)
    };
    let median = |figure: &Figure| Some(figure.each.median);
    let mut words = Vec::new();
    if let Some((ours, tokio)) = beside(Kind::Spawn, &median) {
        words.push(format!("an empty task is spawned and awaited in {ours} ns{tokio}"));
    }
    if let Some((ours, tokio)) = beside(Kind::PingPong, &median) {
        words.push(format!("two tasks wake each other in {ours} ns{tokio}"));
    }
    let beyond = |figure: &Figure| Some(figure.waiting?.beyond);
    if let Some((ours, tokio)) = beside(Kind::Waiting, &beyond) {
        words.push(format!("a waiting one takes {ours} bytes beyond its future{tokio}"));
    }
    if words.is_empty() {
        return "What tasks cost that wait".to_owned();
    }
    format!("With one worker, {}", words.join(", "))
}

fn section(summary: &Summary, kind: Kind, title: &str, about: &str) -> String {
    let groups: Vec<&Group> = summary.of_kind(kind).collect();
    if groups.is_empty() {
        return String::new();
    }
    let figures = if kind == Kind::Fork {
        lines(&groups)
    } else {
        let figures = groups.iter().map(|group| {
            let (title, drawn) = (group.title(), drawn(group));
            figures::figure(&title, drawn, &figures::bars(&title, drawn, &group.runtimes))
        });
        format!("<div class=\"gallery wide\">\n{}</div>", figures.collect::<String>())
    };
    let table = |group: &&Group| {
        let unit = group.subject.unit();
        figures::table(&group.title(), unit, group.besides(), &group.runtimes)
    };
    let tables: String = groups.iter().map(table).collect();
    format!("<section>\n<h2>{title}</h2>\n<p>{about}</p>\n{figures}\n{tables}</section>\n")
}

/// What its bars count.
fn drawn(group: &Group) -> &'static str {
    match group.subject.kind {
        Kind::Waiting => "bytes a task, beyond its own future",
        Kind::Spawn | Kind::PingPong | Kind::Fork => group.subject.unit(),
    }
}

/// A chart for each number of workers, over the number of threads.
fn lines(groups: &[&Group]) -> String {
    let mut numbers: Vec<usize> = groups.iter().map(|group| group.workers).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut names: Vec<&str> = Vec::new();
    for figure in groups.iter().flat_map(|group| &group.runtimes) {
        if !names.contains(&figure.runtime.as_str()) {
            names.push(&figure.runtime);
        }
    }
    let chart = |workers: usize| {
        let groups: Vec<&&Group> = groups.iter().filter(|group| group.workers == workers).collect();
        // A plan has sizes of some hundred millions at most.
        let threads = |group: &Group| usize::try_from(group.subject.number).unwrap_or(usize::MAX);
        let line = |name: &&str| {
            let point = |group: &&&Group| Some((threads(group), group.figure(name)?.each.median));
            ((*name).to_owned(), groups.iter().filter_map(point).collect())
        };
        let about = format!("nanoseconds a thread over the number of threads, P = {workers}");
        let svg = Chart {
            title: about,
            unit: "ns a thread",
            across: "threads at once",
            workers: groups.iter().map(|group| threads(group)).collect(),
            // The axis does not count workers: no cliff begins anywhere.
            processors: 1.0,
            ideal: Vec::new(),
            ceiling: Vec::new(),
            // What is drawn last lies on top.
            lines: names.iter().rev().map(line).collect(),
        }
        .svg();
        format!(
            "<figure>\n<figcaption><b>P = {workers}</b> <span>ns a thread</span></figcaption>\n{svg}</figure>\n"
        )
    };
    let figures: String = numbers.into_iter().map(chart).collect();
    format!("<p class=\"legend\">{}</p>\n<div class=\"gallery\">\n{figures}</div>", looks(&names))
}

fn runtimes(record: &Record) -> String {
    let row = |runtime: &crate::experiments::wait::record::Runtime| {
        let about = once::find(&runtime.name).map_or("", |local| local.about);
        format!(
            "<tr><th>{}</th><td>{}: {}</td></tr>\n",
            escape(&runtime.name),
            escape(&runtime.version),
            escape(about)
        )
    };
    let rows: String = record.header.plan.runtimes.iter().map(row).collect();
    format!("<table class=\"facts\">\n{rows}</table>")
}

fn method(record: &Record) -> String {
    let plan = &record.header.plan;
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Each measurement is made by a process of its own, with fresh workers, after some of the same has been done to warm up. A \
task takes the time, on a worker. The code is the same for all runtimes; each has its own semaphores.</li>
<li>Every answer is checked: what the tasks return, how often the ball was hit, how many tasks went on, and how often each \
thread was there.</li>
<li>The runtimes take turns, in up to {} rotations through everything; figures are medians.</li>
<li>The memory of waiting tasks is what resident memory has grown by since before the first of them was spawned, a thousand at \
a time, until the last of them waited; nothing is subtracted. A future has its place in the semaphore's queue inside, unless its \
semaphore allocates that.</li>
</ul>
<h3>What to keep in mind</h3>
<ul>
<li>With two workers it is the runtime's choice where the players of a ping-pong run. On one thread they wake each other in \
some tens or hundreds of nanoseconds; on two, a system call may have to wake a processor each time.</li>
<li>tokio and async-executor have no counter that waits for signals; theirs is an atomic number whose last signal notifies.</li>
</ul>",
        plan.repeats
    )
}
