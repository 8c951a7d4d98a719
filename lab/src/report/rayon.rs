//! The page of `rayon`: programs written for rayon, on its own core and on Locksley's.

use std::path::Path;

use super::dots::{Dots, Row};
use super::page::{document, escape, looks};
use super::tables;
use crate::experiments::cliff::table::seconds;
use crate::experiments::rayon::plan::{self, MOST_UNFAIRNESS, OURS, RUNTIMES, Setting, UPSTREAM};
use crate::experiments::rayon::record::Record;
use crate::experiments::rayon::summary::{Balance, SettingSummary, Summary, WorkloadSummary};
use crate::experiments::rayon::table::{processors, ratio_words, wanted};
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let common = &record.header.common;
    let capacity = common.machine.capacity();
    let headline = escape(&headline(summary));
    let (means, notes) = (means(summary), notes(record, summary));
    let legend = format!("<p class=\"legend\">{}</p>", looks(&RUNTIMES));
    let settings: String = summary.settings.iter().map(section).collect();
    let beside = summary.on(Setting::Beside).map_or(String::new(), beside);
    let (circumstances, method) = (circumstances(record), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · in the place of rayon-core · {capacity} processors</p>
<h1>{headline}</h1>
{means}
<p class=\"note\">The same programs, written against rayon's interface, built with rayon's own core and with Locksley's in its \
place. A ratio below 1 means that they take less time on Locksley.</p>
{notes}
</header>
{legend}
{settings}
{beside}
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: in the place of rayon-core", &body)
}

/// The finding, computed: the geometric means.
fn headline(summary: &Summary) -> String {
    let ratios = summary.settings.iter().filter_map(|found| {
        let words = match found.setting {
            Setting::Alone => "alone",
            Setting::Oversubscribed => "with four workers for each processor",
            Setting::Beside => "beside busy threads",
        };
        Some(format!("{:.2} {words}", found.mean_ratio()?))
    });
    let ratios: Vec<String> = ratios.collect();
    match ratios.is_empty() {
        true => "Programs written for rayon".to_owned(),
        false => format!(
            "Programs written for rayon take this part of their time on Locksley: {}",
            ratios.join(", ")
        ),
    }
}

/// The mean of each setting, and what is wanted of it.
fn means(summary: &Summary) -> String {
    let row = |found: &SettingSummary| {
        let mean = found.mean_ratio()?;
        let (title, wanted) = (escape(&found.title), wanted(found.setting));
        let mark = if found.is_reached() == Some(false) { " class=\"low\"" } else { "" };
        Some(format!("<tr><th>{title}</th><td{mark}>{mean:.3}</td><td>{wanted}</td></tr>\n"))
    };
    let mut rows: String = summary.settings.iter().filter_map(row).collect();
    let unfairness = summary.on(Setting::Beside).and_then(|found| {
        let (ours, _) = found.unfairness(OURS)?;
        let theirs = found.unfairness(UPSTREAM);
        let theirs =
            theirs.map_or(String::new(), |(mean, _)| format!("; rayon's is {:.0}", 100.0 * mean));
        let mark = if found.is_fair() == Some(false) { " class=\"low\"" } else { "" };
        Some(format!(
            "<tr><th>unfairness beside loop, points</th><td{mark}>{:.0}</td><td>at most \
             {MOST_UNFAIRNESS:.0}{theirs}</td></tr>\n",
            100.0 * ours
        ))
    });
    rows += &unfairness.unwrap_or_default();
    match rows.is_empty() {
        true => rows,
        false => format!(
            "<table class=\"shares\">\n<tr><th>time on Locksley over time on rayon</th><th>geometric mean</th>\
             <th>wanted</th></tr>\n{rows}</table>"
        ),
    }
}

fn notes(record: &Record, summary: &Summary) -> String {
    let mut notes = String::new();
    let plan = &record.header.common.plan;
    if plan.quick {
        notes += &format!("<p class=\"note\">{}.</p>\n", escape(&plan::subset(plan)));
    }
    if let Some(taken) = summary.disturbance {
        notes += &format!(
            "<p class=\"warning\">Others used {taken:.2} processors meanwhile. All figures suffer from that; measure again when \
             the machine is quiet.</p>\n"
        );
    }
    notes
}

/// The times in a setting.
fn section(found: &SettingSummary) -> String {
    let title = escape(&found.title);
    let rows = |workload: &WorkloadSummary| {
        let row = |runtime: &str, value: f64, words: String| {
            let time = workload.on(runtime).map_or(String::new(), |on| seconds(on.times.median));
            Row {
                runtime: runtime.to_owned(),
                values: vec![value],
                figures: format!("{words}{time} s"),
            }
        };
        let ratio = workload.ratio.map(|ratio| ratio.median);
        let both = ratio.map(|ratio| {
            vec![row(UPSTREAM, 1.0, String::new()), row(OURS, ratio, format!("{ratio:.2}: "))]
        });
        (workload.workload.name.clone(), both.unwrap_or_default())
    };
    let chart = Dots {
        title: format!("times relative to rayon's, {}", found.title),
        unit: "time over rayon's",
        subjects: found.workloads.iter().map(rows).collect(),
    };
    let figure = match chart.svg() {
        svg if svg.is_empty() => svg,
        svg => format!("<div class=\"gallery wide\"><figure>{svg}</figure></div>\n"),
    };
    format!("<section>\n<h2>Times {title}</h2>\n{figure}{}</section>\n", times(found))
}

fn times(found: &SettingSummary) -> String {
    let row = |workload: &WorkloadSummary| {
        let cells: String = RUNTIMES
            .iter()
            .map(|runtime| match workload.on(runtime) {
                Some(on) => format!(
                    "<td title=\"{} to {} in {} processes\">{}</td>",
                    seconds(on.times.least),
                    seconds(on.times.most),
                    on.times.number,
                    seconds(on.times.median)
                ),
                None => "<td>–</td>".to_owned(),
            })
            .collect();
        let mark = if found.is_too_slow(workload) { " class=\"low\"" } else { "" };
        let ratio = workload.ratio.as_ref().map_or("–".to_owned(), ratio_words);
        let described = &workload.workload;
        format!(
            "<tr><th title=\"{}\">{}</th><td>{}</td>{cells}<td{mark}>{ratio}</td></tr>\n",
            escape(&described.about),
            escape(&described.name),
            described.size
        )
    };
    let rows: String = found.workloads.iter().map(row).collect();
    let mean = found.mean_ratio().map_or(String::new(), |mean| {
        format!(
            "<tr class=\"aside\"><th>geometric mean</th><td></td><td></td><td></td><td>{mean:.3}</td></tr>\n"
        )
    });
    format!(
        "<table class=\"numbers\">\n<tr><th>workload</th><th>size</th><th>{UPSTREAM}, s</th><th>{OURS}, s</th>\
         <th>ratio</th></tr>\n{rows}{mean}</table>\n"
    )
}

/// Who got what of the machine.
fn beside(found: &SettingSummary) -> String {
    let rows = |workload: &WorkloadSummary| {
        let row = |(runtime, balance): (&String, &Balance)| {
            let values = balance.slowdowns.map(|slowdown| 100.0 * slowdown);
            let figures = values.map(|value| format!("{value:.0}")).join(" / ");
            Row { runtime: runtime.clone(), values: values.to_vec(), figures }
        };
        (workload.workload.name.clone(), balances(workload).map(row).collect())
    };
    let chart = Dots {
        title: "slowdowns beside busy threads".to_owned(),
        unit: "slowdown, %",
        subjects: found.workloads.iter().map(rows).collect(),
    };
    let svg = chart.svg();
    if svg.is_empty() {
        return String::new();
    }
    let table = balance_table(found);
    format!(
        "<section>
<h2>Who gets what beside busy threads</h2>
<p>Slowdown is Tc/Ts − 1: how much longer a program takes beside another one than alone. The full dot is the program's, the other \
one that of the busy threads; a long line is an unfair share. Unfairness is its length in percentage points, run by run. \
Throughput is the weighted speedup, the sum of Tb/Tc, where Tb is the best time alone on either core: 1 is what the programs \
reach one after the other.</p>
<div class=\"gallery wide\"><figure>{svg}</figure></div>
{table}
</section>"
    )
}

fn balances(workload: &WorkloadSummary) -> impl Iterator<Item = (&String, &Balance)> {
    let all = workload.runtimes.iter();
    all.filter_map(|(runtime, found)| Some((runtime, found.balance.as_ref()?)))
}

fn balance_table(found: &SettingSummary) -> String {
    let mut rows = String::new();
    for workload in &found.workloads {
        for (place, (runtime, balance)) in balances(workload).enumerate() {
            let name = if place == 0 { workload.workload.name.as_str() } else { "" };
            rows += &format!(
                "<tr{}><th>{}</th><th>{}</th><td>{}</td><td>{:.0}</td><td>{:.0}</td><td>{:.2}</td><td>{}</td></tr>\n",
                if place == 0 { " class=\"first\"" } else { "" },
                escape(name),
                escape(runtime),
                balance.slowdowns.map(|slowdown| format!("{:.0}", 100.0 * slowdown)).join(" / "),
                100.0 * balance.unfairness,
                100.0 * balance.worst,
                balance.throughput,
                processors(balance, " / ")
            );
        }
    }
    for runtime in RUNTIMES {
        let Some((mean, worst)) = found.unfairness(runtime) else { continue };
        let is_low = runtime == OURS && found.is_fair() == Some(false);
        let mark = if is_low { " class=\"low\"" } else { "" };
        rows += &format!(
            "<tr class=\"aside\"><th>mean, worst of all</th><th>{runtime}</th><td></td><td{mark}>{:.0}</td><td>{:.0}</td>\
             <td></td><td></td></tr>\n",
            100.0 * mean,
            100.0 * worst
        );
    }
    format!(
        "<table class=\"numbers\">\n<tr><th>workload</th><th>runtime</th><th>slowdowns, %</th><th>unfairness, mean</th>\
         <th>worst</th><th>throughput</th><th>processors</th></tr>\n{rows}</table>"
    )
}

fn circumstances(record: &Record) -> String {
    let common = &record.header.common;
    let versions = &common.versions;
    let programs: Vec<String> = record
        .header
        .programs
        .iter()
        .map(|program| format!("{}: {} ({})", program.runtime, program.version, program.build))
        .collect();
    tables::facts(
        &common.machine,
        &[
            ("measured", format!("{} to {}", record.started, record.finished)),
            ("versions", format!("Locksley {}, {}", versions.locksley, versions.rustc)),
            ("programs", programs.join("; ")),
            ("build", versions.build.clone()),
            ("seed", common.plan.seed.to_string()),
        ],
    )
}

fn method(record: &Record) -> String {
    let plan = &record.header.common.plan;
    let workloads: Vec<String> = plan
        .workloads
        .iter()
        .map(|workload| {
            let (name, about) = (escape(&workload.name), escape(&workload.about));
            format!("{name}: {about}")
        })
        .collect();
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Each measurement is a process of its own, with nobody's settings for its runtime, the two cores in turn, in up to {} rotations \
through everything. A process prepares its input and computes once before it is measured. Then it computes again and again, \
alone at least {} times and for {} s; its time is the mean.</li>
<li>Only the computation is timed, inside the process: neither the making and resetting of inputs nor the checks are part of it. \
Every answer is checked: the first by other means, without rayon, the others by being equal to that.</li>
<li>A ratio is that of two processes which ran one after the other; the median of all rotations is given. Means of ratios are \
geometric.</li>
<li>Busy threads run for {} s, one for each processor, beside a program with as many workers that computes all the while. Those \
of its computations count that lie within that time from beginning to end. Slowdowns are relative to the median alone, of the \
same core, in the same run.</li>
<li>{}.</li>
</ul>",
        plan.repeats,
        plan.computations,
        plan.seconds,
        plan.beside_seconds,
        workloads.join("; ")
    )
}
