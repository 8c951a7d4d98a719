//! The page of `forkjoin`.

use std::path::Path;

use super::chart::{Chart, WORKERS};
use super::page::{STYLE, escape, key};
use super::{bars, tables};
use crate::experiments::cliff::table::seconds;
use crate::experiments::forkjoin::once::{HOLD, LOCAL};
use crate::experiments::forkjoin::plan;
use crate::experiments::forkjoin::record::Record;
use crate::experiments::forkjoin::summary::{Fate, InputSummary, RuntimeSummary, Summary};
use crate::experiments::forkjoin::table::fate_words;
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
    let each = |part: &dyn Fn(&InputSummary) -> String| -> String {
        summary.inputs.iter().map(part).collect()
    };
    let unrest = summary.unrest().map_or(String::new(), |ratio| {
        format!(
            "<p class=\"warning\">The slowest serial run took {ratio:.1} times as long as the fastest: the machine was \
             not quiet, and all figures suffer from that.</p>"
        )
    });
    let cost_bars = each(&|input| figure(input, &bars_of(input)));
    let costs_table = each(&|input| costs(input));
    let speedups = each(&|input| figure(input, &speedup(record, input)));
    let legend = key(&names(summary), false);
    let times_table = each(&|input| times(record, input));
    let stuck = stuck(summary);
    let hold = HOLD.as_millis();
    let runtimes = runtimes(record);
    let circumstances = tables::facts(
        &header.machine,
        &[
            ("measured", format!("{} to {}", record.started, record.finished)),
            ("compiler", header.versions.rustc.clone()),
            ("build", header.versions.build.clone()),
            ("seed", header.plan.seed.to_string()),
        ],
    );
    let method = method(record);
    format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>Locksley: what a fork costs</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<p class=\"kicker\">Locksley · what a fork costs · {processors} processors</p>
<h1>{headline}</h1>
{extent}
{unrest}
</header>
<section>
<h2>The cost of a fork that nobody steals</h2>
<p>Nanoseconds a task with one worker: (T1 − Ts)/forks, where Ts is the recursion as anybody would write it. Compilers make a loop of one of its two calls; <i>over two calls</i> is what a fork costs beyond a call that stays one.</p>
<div class=\"gallery wide\">
{cost_bars}</div>
{costs_table}
</section>
<section>
<h2>Several workers</h2>
<p>Ts/TP, the speedup over the serial code. The forks are as fine as can be, so nothing hides what they cost.</p>
{legend}
<div class=\"gallery\">
{speedups}</div>
{times_table}
</section>
<section>
<h2>Stuck owners</h2>
<p>Two workers. One of them forks tasks and then gets stuck in a task of its own, for {hold} ms or, in the first case, \
until the other has run what it forked. When did the first of its tasks begin, and when were all of them done? \
Milliseconds from when it got stuck: median, and worst.</p>
{stuck}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>The runtimes</h3>
{runtimes}
{method}
</section>
</body>
</html>
"
    )
}

/// What a fork costs with Locksley and with the others, computed.
fn headline(summary: &Summary) -> String {
    let Some(input) = summary.inputs.first() else { return "What a fork costs".to_owned() };
    let mut words: Vec<String> = Vec::new();
    for name in ["locksley", "chili", "rayon", "onetbb", "libgomp", "libomp"] {
        if let Some(found) = input.runtimes.iter().find(|found| found.runtime == name) {
            words.push(format!("{name} {:.1}", found.task_nanos));
        }
    }
    if words.is_empty() {
        return "What a fork costs".to_owned();
    }
    format!("A fork that nobody steals, in nanoseconds: {}", words.join(", "))
}

fn names(summary: &Summary) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for found in summary.inputs.iter().flat_map(|input| &input.runtimes) {
        if !names.contains(&found.runtime.as_str()) {
            names.push(&found.runtime);
        }
    }
    names
}

fn figure(input: &InputSummary, svg: &str) -> String {
    format!(
        "<figure>\n<figcaption><b>{}</b> {} <span>{} forks</span></figcaption>\n{svg}</figure>\n",
        escape(&input.app),
        escape(&input.size),
        input.forks
    )
}

fn bars_of(input: &InputSummary) -> String {
    let bar = |found: &RuntimeSummary| (found.runtime.clone(), found.task_nanos);
    let bars: Vec<_> = input.runtimes.iter().map(bar).collect();
    bars::svg(&format!("nanoseconds a task of {} {}", input.app, input.size), &bars)
}

fn speedup(record: &Record, input: &InputSummary) -> String {
    let workers = record.header.plan.workers.clone();
    let processors = record.header.machine.capacity();
    let line = |found: &RuntimeSummary| {
        let points = found.points.iter().filter_map(|point| Some((point.workers, point.speedup?)));
        (found.runtime.clone(), points.collect())
    };
    Chart {
        title: format!("speedup of {} {} over the serial code", input.app, input.size),
        unit: "Ts/TP",
        across: WORKERS,
        workers: workers.clone(),
        processors,
        ideal: workers.iter().map(|&number| (number, processors.min(number as f64))).collect(),
        ceiling: Vec::new(),
        // What is drawn last lies on top.
        lines: input.runtimes.iter().rev().map(line).collect(),
    }
    .svg()
}

/// ns a task, instructions a task, T1 and T1/Ts.
fn costs(input: &InputSummary) -> String {
    let counted = input.runtimes.iter().any(|found| found.task_instructions.is_some());
    let mut rows = String::new();
    for found in &input.runtimes {
        let instructions = match found.task_instructions {
            Some(number) => format!("<td>{number:.1}</td>"),
            None if counted => "<td></td>".to_owned(),
            None => String::new(),
        };
        rows += &format!(
            "<tr><th>{}</th><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td>{instructions}{}<td>{:.2}</td></tr>\n",
            escape(&found.runtime),
            found.task_nanos,
            found.best_task_nanos,
            found.over_calls_nanos,
            time_cell(&found.work),
            found.overhead
        );
    }
    let given_up = match &input.given_up[..] {
        [] => String::new(),
        names => format!(" Given up, having taken too long: {}.", escape(&names.join(", "))),
    };
    format!(
        "<h3>{} {}</h3>\n<p class=\"note\">Ts = {} s, {:.2} ns for each fork that it does without; with two calls for a fork, {} s.{given_up}</p>\n\
         <table class=\"numbers\">\n<tr><th>runtime</th><th>ns a task</th><th>of the shortest times</th><th>over two calls</th>{}<th>T1</th><th>T1/Ts</th></tr>\n{rows}</table>\n",
        escape(&input.app),
        escape(&input.size),
        seconds(input.serial.median),
        input.serial.median / input.forks as f64 * 1e9,
        seconds(input.calls.median),
        if counted { "<th>instructions a task</th>" } else { "" }
    )
}

fn time_cell(times: &crate::experiments::times::Times) -> String {
    format!(
        "<td title=\"from {} to {}, {} times\">{}</td>",
        seconds(times.least),
        seconds(times.most),
        times.number,
        seconds(times.median)
    )
}

/// TP and TP/T1.
fn times(record: &Record, input: &InputSummary) -> String {
    let heads: String = record
        .header
        .plan
        .workers
        .iter()
        .map(|workers| match workers {
            1 => "<th>T1</th>".to_owned(),
            _ => format!("<th>T{workers}</th><th>T{workers}/T1</th>"),
        })
        .collect();
    let limit = record.header.plan.limit_seconds;
    let cells = |found: &RuntimeSummary| -> String {
        let cell = |point: &crate::experiments::forkjoin::summary::Point| match (
            &point.times,
            point.of_work,
            point.workers,
        ) {
            (Some(times), _, 1) => time_cell(times),
            (Some(times), Some(ratio), _) => {
                format!("{}<td>{ratio:.2}</td>", time_cell(times))
            }
            _ => format!("<td class=\"low\">over {limit} s</td><td></td>"),
        };
        found.points.iter().map(cell).collect()
    };
    let rows: String = input
        .runtimes
        .iter()
        .map(|found| format!("<tr><th>{}</th>{}</tr>\n", escape(&found.runtime), cells(found)))
        .collect();
    format!(
        "<h3>{} {}, seconds</h3>\n<table class=\"numbers\">\n<tr><th>runtime</th>{heads}</tr>\n{rows}</table>\n",
        escape(&input.app),
        escape(&input.size)
    )
}

fn stuck(summary: &Summary) -> String {
    let mut rows = String::new();
    for stuck in &summary.stuck {
        for (index, (runtime, fate)) in stuck.runtimes.iter().enumerate() {
            let [first, all] = fate_words(fate);
            // Whoever could not have a task before its owner was back has not taken over.
            let hold = HOLD.as_secs_f64() * 1e3;
            let late = |ms: f64| if ms >= hold { " class=\"low\"" } else { "" };
            let (first_class, all_class) = match fate {
                Fate::Done { median, .. } => (late(median.first_ms), late(median.all_ms)),
                Fate::Never(_) => ("", " class=\"low\""),
            };
            rows += &format!(
                "<tr{}><th>{}</th><th>{}</th><td{first_class}>{first}</td><td{all_class}>{all}</td></tr>\n",
                if index == 0 { " class=\"first\"" } else { "" },
                if index == 0 { escape(stuck.shape.about()) } else { String::new() },
                escape(runtime)
            );
        }
    }
    format!(
        "<table class=\"owners\">\n<tr><th>stuck owner</th><th>runtime</th><th>first begun</th><th>all done</th></tr>\n{rows}</table>"
    )
}

fn runtimes(record: &Record) -> String {
    let about = |name: &str| LOCAL.iter().find(|local| local.name == name).map(|local| local.about);
    let mut rows = String::new();
    for runtime in &record.header.runtimes {
        let about = about(&runtime.name).unwrap_or("a program of peers/");
        rows += &format!(
            "<tr><th>{}</th><td>{}: {}</td></tr>\n",
            escape(&runtime.name),
            escape(&runtime.version),
            escape(about)
        );
    }
    for missing in &record.header.left_out {
        rows += &format!(
            "<tr><th>{}</th><td>not measured: {}</td></tr>\n",
            escape(&missing.runtime),
            escape(&missing.reason)
        );
    }
    format!("<table class=\"facts\">\n{rows}</table>")
}

fn method(record: &Record) -> String {
    let plan = &record.header.plan;
    let instructions = match plan.instructions {
        Some([small, large]) => format!(
            "<li>Instructions are those of a whole process, counted by callgrind: what fib({large}) takes more than \
             fib({small}), by the difference in forks, less the same of the serial code. They are counted for fib \
             only.</li>\n"
        ),
        None => "<li>No instructions were counted: it was not asked for, or valgrind is not installed.</li>\n"
            .to_owned(),
    };
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Each measurement is made by a process of its own, with fresh workers, after fib(20) has been computed on them. The \
time is taken by the worker that begins the computation. Every answer is checked.</li>
<li>The runtimes take turns, in up to {} rotations through everything; figures are medians. Rest the pointer on a time \
to see the shortest and the longest.</li>
<li>fib(n) forks at each call with n of 2 or more; tree is a perfect binary tree with so many levels, whose inner nodes \
fork and whose leaves do not.</li>
<li>Serial and parallel versions are the same code. A compiler would turn one of the two serial calls into a loop, which \
it cannot do where there is a fork; compiler fences, which are no instructions, keep it from that. Ts without them is \
given beside.</li>
<li>Programs in C++ are compared with the same Ts as all others: their compilers differ, by far less than their forks \
cost.</li>
{instructions}<li>A computation that takes more than {} s is given up, a stuck owner after {} s.</li>
</ul>
<h3>What to keep in mind</h3>
<ul>
<li>chili makes no task of most joins that are nested four deep or more: it calls, and looks again every 64 joins. Its \
cost a task is for the most part that of a call, and so is what it leaves within reach of others.</li>
<li>A caller of chili's join runs the second closure first, so it is given them in reverse.</li>
<li>A time in the first column of stuck owners is 0 where the task had begun before the owner got stuck.</li>
</ul>",
        plan.repeats, plan.limit_seconds, plan.stuck_limit_seconds
    )
}
