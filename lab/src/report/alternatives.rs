//! The page of `alternatives`: speedups, and where the time went.

use std::path::Path;

use super::charts;
use super::circumstances::Circumstances;
use super::page::{document, escape, figure, key};
use crate::experiments::alternatives::breakdown::{self, Bar, InputBreakdown};
use crate::experiments::alternatives::plan;
use crate::experiments::alternatives::record::Record;
use crate::experiments::cliff::summary::Summary;
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record) -> Outcome<()> {
    files::replace(page, &html(record))
}

/// The page of `record`.
fn html(record: &Record) -> String {
    let summary = Summary::of(&record.as_cliff());
    let headline = escape(&headline(&summary));
    let extent = if record.plan.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(&record.plan)))
    } else {
        String::new()
    };
    let missing = plan::missing(&record.plan);
    let missing = if missing.is_empty() {
        String::new()
    } else {
        format!("<p class=\"warning\">Not in this build: {}.</p>", missing.join(", "))
    };
    let runtimes: Vec<&str> = record.plan.runtimes.iter().map(String::as_str).collect();
    let legend = key(&runtimes, true);
    let figures: String = summary
        .inputs
        .iter()
        .map(|input| figure(input, &charts::speedup(&summary, input, &record.plan.workers)))
        .collect();
    let bars = bars(&breakdown::of(record));
    let circumstances = Circumstances {
        machine: &record.machine,
        versions: &record.versions,
        started: &record.started,
        finished: &record.finished,
        seed: record.plan.seed,
    }
    .table();
    let processors = summary.capacity;
    let repeats = record.plan.repeats;
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · alternative implementations of work stealing · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Figures 2 and 3 of Hood's study (1998): the same algorithm on deques with a lock, and with thieves that \
never yield.</p>
{extent}
{missing}
</header>
<section>
<h2>Speedup over the number of workers</h2>
<p>T1/TP, each relative to its own T1. Up to the number of processors all should be alike; beyond it, none should fall.</p>
{legend}
<div class=\"gallery\">
{figures}</div>
</section>
<section>
<h2>Where the time went</h2>
<p>With as many workers as processors, and with twice as many. A bar's length is the time, relative to the first of the \
two; its parts are the shares of all workers' time: at work, hunting, waiting for locks. Rates are per second of the \
computation.</p>
<p class=\"legend bar\"><span><i class=\"work\" style=\"width:1rem\"></i> work</span>
<span><i class=\"hunt\" style=\"width:1rem\"></i> hunting</span>
<span><i class=\"lock\" style=\"width:1rem\"></i> waiting for locks</span>
<span><i class=\"all\" style=\"width:1rem\"></i> not metered</span></p>
{bars}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>How it was measured</h3>
<ul>
<li>The alternatives take turns, for each number of workers, in up to {repeats} rotations through everything; speedups \
are of medians, parts and rates are means. Every answer is checked.</li>
<li>Times are by the clock on the wall: a worker that is off its processor works, hunts or waits as long as that takes. \
Time asleep counts as work: nobody's processor is used. A wait of an owner for its own lock is taken off the hunting. (In records of before hunts were metered as they go, one \
counts when it ends: as a whole, though it began before the computation.)</li>
<li>Context switches are those of all threads of the process. A yield is one that the kernel calls involuntary.</li>
</ul>
</section>"
    );
    document("Locksley: alternative implementations of work stealing", &body)
}

/// The finding, computed: the lowest utilization with more workers than processors, of ours and of the worst other.
fn headline(summary: &Summary) -> String {
    let lowest = |name: &str| {
        let points = summary.inputs.iter().flat_map(|input| {
            let of_runtime = input.runtimes.iter().filter(|runtime| runtime.runtime == name);
            of_runtime.flat_map(|runtime| &runtime.points)
        });
        points.filter(|point| point.is_crowded()).map(|p| p.utilization).reduce(f64::min)
    };
    let others = plan::RUNTIMES.iter().filter(|name| **name != "locksley");
    let worst = others.filter_map(|name| Some((*name, lowest(name)?)));
    let worst = worst.min_by(|a, b| a.1.total_cmp(&b.1));
    match (lowest("locksley"), worst) {
        (Some(ours), Some((name, worst))) => format!(
            "More workers than processors: Locksley makes use of at least {:.0}% of the machine, {name} of {:.0}%",
            100.0 * ours,
            100.0 * worst
        ),
        _ => "Speedup of alternative implementations".to_owned(),
    }
}

fn bars(inputs: &[InputBreakdown]) -> String {
    let mut rows = String::new();
    for input in inputs {
        let longest = input.bars.iter().map(|bar| bar.height).fold(1.0, f64::max);
        for (place, bar) in input.bars.iter().enumerate() {
            let name = format!("{} {}", input.input.app, input.input.size);
            let name = if place == 0 { name } else { String::new() };
            rows += &row(place == 0, &name, bar, longest);
        }
    }
    format!(
        "<table>\n<tr><th>application</th><th>runtime</th><th>P</th><th>time</th><th>where it went</th>\
         <th>attempts/s</th><th>switches/s, waiting</th><th>preempted</th></tr>\n{rows}</table>"
    )
}

fn row(first: bool, name: &str, bar: &Bar, longest: f64) -> String {
    let width = |share: f64| 16.0 * share * bar.height / longest;
    let part = |class: &str, what: &str, share: f64| {
        format!(
            "<i class=\"{class}\" style=\"width:{:.2}rem\" title=\"{what}: {:.0} %\"></i>",
            width(share),
            100.0 * share
        )
    };
    let parts = match bar.shares {
        Some(shares) => {
            part("work", "work", shares.working)
                + &part("hunt", "hunting", shares.hunting)
                + &part("lock", "locks", shares.locks)
        }
        None => part("all", "not metered", 1.0),
    };
    let rate = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{rate:.0}"));
    format!(
        "<tr{}><th>{}</th><th>{}</th><td>{}</td><td>{:.2}</td><td class=\"bar\">{parts}</td><td>{}</td><td>{}</td>\
         <td>{}</td></tr>\n",
        if first { " class=\"first\"" } else { "" },
        escape(name),
        escape(&bar.runtime),
        bar.workers,
        bar.height,
        rate(bar.attempts),
        rate(bar.voluntary),
        rate(bar.involuntary)
    )
}
