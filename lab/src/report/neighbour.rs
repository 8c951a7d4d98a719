//! The page of `neighbour`: how late a sleeper wakes.

use std::path::Path;

use super::circumstances::Circumstances;
use super::page::{document, escape, looks};
use super::percentiles::Percentiles;
use super::theme::ALONE;
use crate::experiments::neighbour::plan;
use crate::experiments::neighbour::record::Record;
use crate::experiments::neighbour::summary::{Group, Latency, Summary};
use crate::experiments::neighbour::table::time;
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let headline = escape(&headline(summary));
    let extent = if record.plan.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(&record.plan)))
    } else {
        String::new()
    };
    let disturbance = summary.disturbance.map_or(String::new(), |taken| {
        format!(
            "<p class=\"warning\">Others used {taken:.2} processors even while the sleeper was alone. All figures suffer from \
             that; measure again when the machine is quiet.</p>"
        )
    });
    let runtimes = record.plan.runtimes.iter().map(String::as_str);
    let runtimes: Vec<&str> = runtimes.chain([ALONE]).collect();
    let legend = format!("<p class=\"legend\">{}</p>", looks(&runtimes));
    let figures: String =
        summary.groups.iter().map(|group| figure(group, summary.alone.as_ref())).collect();
    let circumstances = Circumstances {
        machine: &record.machine,
        versions: &record.versions,
        started: &record.started,
        finished: &record.finished,
        seed: record.plan.seed,
    }
    .table();
    let (worst, table, method) = (worst(summary), table(summary), method(record));
    let processors = record.machine.capacity();
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · interactive neighbours · {processors} processors</p>
<h1>{headline}</h1>
{worst}
<p class=\"note\">A process that mostly sleeps notes how late it wakes: alone, and beside a parallel program. The study of Hood \
(1998, section 7) leaves this open and expects that a program whose thieves give way is a good neighbour.</p>
{extent}
{disturbance}
</header>
<section>
<h2>How late the sleeper wakes</h2>
<p>The share of wake-ups that are late by at most a time. Lower is better; the axis is logarithmic.</p>
{legend}
<div class=\"gallery\">
{figures}</div>
</section>
<section>
<h2>In figures</h2>
<p>Lateness; then the time of a small piece of work that follows the wake-up, and what the other program computed meanwhile. \
Rest the pointer on a 99th percentile to see it in the best and in the worst measurement.</p>
{table}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: interactive neighbours", &body)
}

/// The finding, computed: where Locksley's neighbour is worst off, and what it would meet beside rayon there.
fn headline(summary: &Summary) -> String {
    let Some((group, locksley)) = summary.worst("locksley") else {
        return "How late a sleeper wakes beside a parallel program".to_owned();
    };
    let beside = |name: &str| {
        let found = group.runtimes.iter().find(|(runtime, _)| runtime == name);
        found.map(|(_, latency)| format!(", beside {name} {}", time(latency.late.p99)))
    };
    let alone = summary.alone.as_ref();
    format!(
        "99 of 100 wake-ups are late by at most {} beside Locksley at its worst{}{} ({} parallelism, P = {})",
        time(locksley.late.p99),
        beside("rayon").unwrap_or_default(),
        alone.map_or(String::new(), |alone| format!(", alone {}", time(alone.late.p99))),
        group.shape,
        group.workers
    )
}

/// Each runtime where its neighbour is worst off.
fn worst(summary: &Summary) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in summary.groups.iter().flat_map(|group| &group.runtimes) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let row = |name: &&str| {
        let (group, latency) = summary.worst(name)?;
        Some(format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{} parallelism, P = {}</td></tr>\n",
            escape(name),
            time(latency.late.p99),
            time(latency.late.most),
            escape(&group.shape),
            group.workers
        ))
    };
    let rows: String = names.iter().filter_map(row).collect();
    format!(
        "<table class=\"shares\">\n<tr><th>beside</th><th>99 % are late by at most</th><th>the latest</th><th>at worst, with</th>\
         </tr>\n{rows}</table>"
    )
}

fn figure(group: &Group, alone: Option<&Latency>) -> String {
    let line = |name: &str, latency: &Latency| {
        let late = latency.late;
        let times = [Some(late.half), Some(late.p90), Some(late.p99), late.p999, Some(late.most)];
        (name.to_owned(), times)
    };
    let mut lines: Vec<_> = alone.map(|alone| line(ALONE, alone)).into_iter().collect();
    lines.extend(group.runtimes.iter().map(|(name, latency)| line(name, latency)));
    // What is drawn last lies on top.
    lines.sort_by_key(|(name, _)| name == "locksley");
    let title = format!(
        "how late a sleeper wakes beside {} parallelism with {} workers",
        group.shape, group.workers
    );
    format!(
        "<figure>\n<figcaption><b>{} parallelism</b>, P = {} <span>{}</span></figcaption>\n{}</figure>\n",
        escape(&group.shape),
        group.workers,
        escape(&group.shows),
        Percentiles { title, lines }.svg()
    )
}

fn table(summary: &Summary) -> String {
    let row = |first: bool, name: &str, runtime: &str, latency: &Latency| {
        let Latency { late, work, .. } = latency;
        format!(
            "<tr{}><th>{}</th><th>{}</th><td>{}</td><td>{}</td><td title=\"{} to {} in {} measurements, {} wake-ups\">{}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            if first { " class=\"first\"" } else { "" },
            escape(name),
            escape(runtime),
            time(late.half),
            time(late.p90),
            time(latency.spread.0),
            time(latency.spread.1),
            latency.measurements,
            late.number,
            time(late.p99),
            late.p999.map_or(String::new(), time),
            time(late.most),
            time(work.half),
            time(work.p99),
            time(work.most),
            latency.rounds_per_second.map_or(String::new(), |rate| format!("{rate:.0}"))
        )
    };
    let mut rows =
        summary.alone.as_ref().map_or(String::new(), |alone| row(true, "", ALONE, alone));
    for group in &summary.groups {
        for (place, (runtime, latency)) in group.runtimes.iter().enumerate() {
            let name = format!("{} parallelism, P = {}", group.shape, group.workers);
            let name = if place == 0 { name } else { String::new() };
            rows += &row(place == 0, &name, runtime, latency);
        }
    }
    format!(
        "<table>\n<tr><th>beside</th><th></th><th>50 %</th><th>90 %</th><th>99 %</th><th>99.9 %</th><th>most</th>\
         <th>work, 50 %</th><th>99 %</th><th>most</th><th>rounds/s</th></tr>\n{rows}</table>"
    )
}

fn method(record: &Record) -> String {
    let plan = &record.plan;
    let shapes: String = plan
        .shapes
        .iter()
        .map(|shape| {
            format!(
                "<li><b>{} parallelism</b>: {}. A round is {} leaves of {} steps of xorshift64 in parallel after {} in a \
                 row.</li>\n",
                escape(&shape.name),
                escape(&shape.shows),
                shape.round.chunks,
                shape.round.leaf,
                shape.round.serial
            )
        })
        .collect();
    let naps = plan.naps;
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>The sleeper and the other program are processes of their own, at the same, normal priority.</li>
<li>The sleeper sleeps until a deadline, every {} ms, up to {} ms earlier or later; all deadlines are fixed when it begins. One \
that passes while it is still busy counts as missed by so much. After each wake-up it computes {} steps of xorshift64.</li>
<li>One measurement takes {} s. The runtimes take turns, in up to {} rotations through everything; in each rotation the \
deadlines are the same for all. Percentiles are those of all wake-ups together, exact to 3 %; 99.9 % is given from 2000 \
wake-ups on.</li>
{shapes}</ul>",
        naps.period as f64 / 1e3,
        naps.jitter as f64 / 1e3,
        naps.steps,
        plan.seconds,
        plan.repeats
    )
}
