//! The page of `corun`: figures 2 to 6 of the paper, and the pairs of rounds.

use std::path::Path;

use super::chart::Chart;
use super::dots::{Dots, Row};
use super::page::{document, escape};
use super::tables;
use crate::experiments::corun::pairs::{self, GROUPS, Part, STATED};
use crate::experiments::corun::plan::{self, ABP, BWS};
use crate::experiments::corun::record::Record;
use crate::experiments::corun::summary::{Average, Balance, Cost, PairSummary, Share, Summary};
use crate::experiments::corun::table::title;
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let common = &record.header.common;
    let processors = common.machine.capacity();
    let headline = escape(&headline(summary));
    let (notes, rounds, applications) =
        (notes(record, summary), rounds(summary), applications(summary));
    let (alone, circumstances, method) = (alone(summary), circumstances(record), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · programs side by side · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Slowdown is Tc/Ts − 1: how much longer a program takes beside another one than alone. Unfairness is the \
difference of the slowdowns, in percentage points. Throughput is the weighted speedup, the sum of Tb/Tc, where Tb is the best \
time alone on any runtime: 1 is what the programs reach one after the other.</p>
{notes}
</header>
{rounds}
{applications}
{alone}
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: programs side by side", &body)
}

/// The finding, computed: over the pairs of the target table, or else over applications, ours and the other's mean.
fn headline(summary: &Summary) -> String {
    for (part, other) in [(Part::Targets, "rayon"), (Part::Applications, ABP)] {
        let averages = summary.averages(summary.part(part), &["locksley", other]);
        if let [ours, theirs] = &averages[..] {
            return format!(
                "Side by side, the slowdowns of two programs differ by {:.0} points with Locksley, by {:.0} with {other} (mean \
                 of {} pairs)",
                100.0 * ours.unfairness,
                100.0 * theirs.unfairness,
                ours.pairs
            );
        }
    }
    "Programs side by side".to_owned()
}

fn notes(record: &Record, summary: &Summary) -> String {
    let mut notes = String::new();
    let plan = &record.header.common.plan;
    if plan.quick {
        notes += &format!("<p class=\"note\">{}.</p>\n", escape(&plan::subset(plan)));
    }
    for missing in &record.header.left_out {
        let (name, reason) = (escape(&missing.name), escape(&missing.reason));
        notes += &format!("<p class=\"note\">Not measured: {name}: {reason}.</p>\n");
    }
    if let Some(taken) = summary.disturbance {
        notes += &format!(
            "<p class=\"warning\">Others used {taken:.2} processors meanwhile. All figures suffer from that; measure again when \
             the machine is quiet.</p>\n"
        );
    }
    notes
}

fn rounds(summary: &Summary) -> String {
    let most = summary.most_useful.map_or(String::new(), |most| {
        format!(" Busy threads alone, one for each processor, make it {most:.2} here.")
    });
    let section = |part: Part, title: &str, about: &str| {
        let pairs: Vec<&PairSummary> = summary.part(part).collect();
        if pairs.is_empty() {
            return String::new();
        }
        let chart = slowdowns(&format!("slowdowns, {title}"), pairs.iter().copied());
        let table = table(&pairs);
        format!(
            "<section>\n<h2>{title}</h2>\n<p>{about}{most}</p>\n<div class=\"gallery wide\"><figure>{chart}</figure></div>\n{table}\n</section>\n"
        )
    };
    section(
        Part::Targets,
        "Rounds side by side",
        "Small parallel rounds for a fixed time. Each dot is a program's slowdown, the full one that of the first; a long line \
         is an unfair share. <i>Useful</i> is the share of all processors' time that went into leaves.",
    ) + &section(
        Part::Others,
        "Rounds that nobody tuned for",
        "Other leaves, numbers of workers and neighbours.",
    )
}

fn applications(summary: &Summary) -> String {
    if summary.part(Part::Applications).next().is_none() {
        return String::new();
    }
    let common = ["locksley", ABP, "rayon"];
    let mut figures = String::new();
    for (letter, shows) in GROUPS {
        let group = || {
            let of_group = summary.part(Part::Applications);
            of_group.filter(move |found| pairs::group(&found.pair) == letter)
        };
        if group().next().is_none() {
            continue;
        }
        let slowdowns = slowdowns_on(&common, &format!("slowdowns, pairs ({letter})"), group());
        let throughputs = single(
            &format!("throughput, pairs ({letter})"),
            "throughput",
            group(),
            &common,
            |balance| Some(balance.throughput),
            |value| format!("{value:.2}"),
        );
        figures += &format!(
            "<h3>({letter}) {shows}</h3>\n{}<div class=\"gallery wide\">\n{}{}</div>\n",
            averages_of(&summary.averages(group(), &common)),
            figure("Slowdowns", "figure 2", &slowdowns),
            figure("Throughput", "figure 3", &throughputs)
        );
    }
    let switches = single(
        "context switches",
        "a computation",
        summary.part(Part::Applications),
        &common,
        |balance| {
            let each = balance.programs.iter().map(|share| share.switches);
            each.map(|pair| pair.map(|(waits, taken)| waits + taken)).sum()
        },
        |value| format!("{value:.0}"),
    );
    format!(
        "<section>
<h2>Applications side by side</h2>
<p>Each is computed again and again; only computations count during which the other one computed from beginning to end.</p>
{figures}
<h3>Context switches of both programs, for one computation of each</h3>
<div class=\"gallery wide\"><figure>{switches}</figure></div>
{}{}{}</section>
",
        variations(summary, &common),
        alternatives(summary),
        thresholds(summary)
    )
}

/// Figure 4.
fn variations(summary: &Summary, runtimes: &[&str]) -> String {
    let row = |runtime: &str, value: f64| Row {
        runtime: runtime.to_owned(),
        values: vec![100.0 * value],
        figures: format!("{:.1}", 100.0 * value),
    };
    let mut by_app: Vec<(String, Vec<Row>)> = Vec::new();
    let mut by_type: Vec<(String, Vec<Row>)> = Vec::new();
    let add = |subjects: &mut Vec<(String, Vec<Row>)>, subject: String, row: Row| match subjects
        .iter_mut()
        .find(|(name, _)| *name == subject)
    {
        Some((_, rows)) => rows.push(row),
        None => subjects.push((subject, vec![row])),
    };
    for runtime in runtimes {
        for (app, value) in summary.variations(runtime) {
            add(&mut by_app, app, row(runtime, value));
        }
        for (kind, value) in summary.variations_by_type(runtime) {
            add(&mut by_type, format!("type {kind}"), row(runtime, value));
        }
    }
    by_type.sort_by(|a, b| a.0.cmp(&b.0));
    let chart = |title: &str, subjects| Dots { title: title.to_owned(), unit: "%", subjects }.svg();
    format!(
        "<h3>Variation of the times, figure 4</h3>
<p>The coefficient of variation, averaged over the co-runs of an application, and over types of executions: 1, one of group 2 \
beside another; 2, one of group 2 beside one of group 1; 3, one of group 1 beside one of group 2; 4, one of group 1 beside \
another.</p>
<div class=\"gallery wide\">\n{}{}</div>\n",
        figure("(a)", "by application", &chart("variation by application", by_app)),
        figure("(b)", "by type of execution", &chart("variation by type of execution", by_type))
    )
}

/// Figure 5.
fn alternatives(summary: &Summary) -> String {
    let all = summary.runtimes(Part::Applications);
    let averages = summary.averages(summary.part(Part::Applications), &all);
    if averages.is_empty() || all.len() < 2 {
        return String::new();
    }
    let chart = |title: &str, unit, value: fn(&Average) -> f64, digits: usize| {
        let row = |average: &Average| Row {
            runtime: average.runtime.clone(),
            values: vec![value(average)],
            figures: format!("{:.digits$}", value(average)),
        };
        let subjects = vec![(String::new(), averages.iter().map(row).collect())];
        Dots { title: title.to_owned(), unit, subjects }.svg()
    };
    let unfairness = chart("unfairness", "points", |average| 100.0 * average.unfairness, 0);
    let throughput = chart("throughput", "throughput", |average| average.throughput, 2);
    let stated = STATED.join(", ");
    format!(
        "<h3>Alternatives, figure 5</h3>
<p>Averages over the pairs on which all of these were measured: {} (of {stated}).</p>
<div class=\"gallery wide\">\n{}{}</div>\n",
        averages[0].pairs,
        figure("Unfairness", "in percentage points", &unfairness),
        figure("Throughput", "weighted speedup", &throughput)
    )
}

/// Figure 6.
fn thresholds(summary: &Summary) -> String {
    let found = summary.thresholds();
    if found.len() < 2 {
        return String::new();
    }
    let values: Vec<usize> = found.iter().map(|(value, _)| *value as usize).collect();
    let ours = summary.averages(
        summary.part(Part::Applications).filter(|pair| STATED.contains(&pair.pair.name.as_str())),
        &["locksley"],
    );
    let chart = |title: &str, unit, value: fn(&Average) -> f64| {
        let line = |average: Option<&Average>, name: &str, points: Vec<(usize, f64)>| {
            average.map(|_| (name.to_owned(), points))
        };
        let swept = found.iter().map(|(at, average)| (*at as usize, value(average))).collect();
        let level = ours.first().map_or(0.0, value);
        let flat = values.iter().map(|&at| (at, level)).collect();
        let lines = [line(Some(&found[0].1), BWS, swept), line(ours.first(), "locksley", flat)];
        Chart {
            title: format!("{title} over SleepThreshold"),
            unit,
            across: "SleepThreshold",
            workers: values.clone(),
            processors: 1.0,
            ideal: Vec::new(),
            ceiling: Vec::new(),
            lines: lines.into_iter().flatten().collect(),
        }
        .svg()
    };
    let unfairness =
        chart("unfairness", "unfairness, points", |average| 100.0 * average.unfairness);
    let throughput = chart("throughput", "throughput", |average| average.throughput);
    format!(
        "<h3>SleepThreshold, figure 6</h3>
<p>The paper's algorithm ({BWS}) with different values, averages over {} pairs; the level line is Locksley's default governor on \
the same pairs.</p>
<div class=\"gallery\">\n{}{}</div>\n",
        found[0].1.pairs,
        figure("Unfairness", "in percentage points", &unfairness),
        figure("Throughput", "weighted speedup", &throughput)
    )
}

fn figure(title: &str, about: &str, svg: &str) -> String {
    format!(
        "<figure>\n<figcaption><b>{title}</b> <span>{about}</span></figcaption>\n{svg}</figure>\n"
    )
}

/// The slowdowns of each pair on each runtime.
fn slowdowns<'a>(title: &str, pairs: impl Iterator<Item = &'a PairSummary>) -> String {
    dots(title, "slowdown, %", pairs, |_| true, shown_slowdowns)
}

fn slowdowns_on<'a>(
    runtimes: &[&str],
    title: &str,
    pairs: impl Iterator<Item = &'a PairSummary>,
) -> String {
    dots(title, "slowdown, %", pairs, |name| runtimes.contains(&name), shown_slowdowns)
}

fn shown_slowdowns(balance: &Balance) -> Option<(Vec<f64>, String)> {
    let values: Vec<f64> = balance.programs.iter().map(|share| 100.0 * share.slowdown).collect();
    let figures: Vec<String> = values.iter().map(|value| format!("{value:.0}")).collect();
    Some((values, figures.join(" / ")))
}

/// One figure of each pair on each of some runtimes.
fn single<'a>(
    title: &str,
    unit: &'static str,
    pairs: impl Iterator<Item = &'a PairSummary>,
    runtimes: &[&str],
    value: impl Fn(&Balance) -> Option<f64>,
    words: impl Fn(f64) -> String,
) -> String {
    dots(
        title,
        unit,
        pairs,
        |name| runtimes.contains(&name),
        |balance| {
            let value = value(balance)?;
            Some((vec![value], words(value)))
        },
    )
}

fn dots<'a>(
    title: &str,
    unit: &'static str,
    pairs: impl Iterator<Item = &'a PairSummary>,
    is_shown: impl Fn(&str) -> bool,
    shown: impl Fn(&Balance) -> Option<(Vec<f64>, String)>,
) -> String {
    let row = |(runtime, balance): &(String, Balance)| {
        let (values, figures) = is_shown(runtime).then(|| shown(balance)).flatten()?;
        Some(Row { runtime: runtime.clone(), values, figures })
    };
    let subjects = pairs.map(|found| {
        (found.pair.name.clone(), found.runtimes.iter().filter_map(row).collect::<Vec<_>>())
    });
    Dots { title: title.to_owned(), unit, subjects: subjects.collect() }.svg()
}

fn table(pairs: &[&PairSummary]) -> String {
    let mut rows = String::new();
    for found in pairs {
        for (place, (runtime, balance)) in found.runtimes.iter().enumerate() {
            rows += &row(place == 0, found, runtime, balance);
        }
    }
    format!(
        "<table class=\"numbers\">\n<tr><th>pair</th><th>runtime</th><th>slowdowns, %</th><th>unfairness, mean</th><th>worst</th>\
         <th>useful</th><th>throughput</th><th>variation, %</th><th>processors</th><th>switches/s</th></tr>\n{rows}</table>"
    )
}

fn row(first: bool, found: &PairSummary, runtime: &str, balance: &Balance) -> String {
    let each = |figure: &dyn Fn(&Share) -> Option<String>| {
        let all = balance.programs.iter().map(|share| figure(share).unwrap_or("–".to_owned()));
        all.collect::<Vec<_>>().join(" / ")
    };
    let target = found.pair.target.filter(|_| runtime == "locksley");
    // What is wanted stands beside what was measured, and marks it where it is missed.
    let cell = |words: String, wanted: Option<(f64, bool)>| match wanted {
        None => format!("<td>{words}</td>"),
        Some((wanted, true)) => format!("<td title=\"wanted: {wanted}\">{words}</td>"),
        Some((wanted, false)) => {
            format!("<td class=\"low\" title=\"wanted: {wanted}\">{words}</td>")
        }
    };
    let (mean, worst) = (100.0 * balance.unfairness, 100.0 * balance.worst);
    let unfairness = cell(format!("{mean:.0}"), target.map(|wish| (wish.mean, mean <= wish.mean)))
        + &cell(format!("{worst:.0}"), target.map(|wish| (wish.worst, worst <= wish.worst)));
    let useful = balance.useful.map_or("–".to_owned(), |useful| format!("{useful:.2}"));
    let is_useful = |least: f64| balance.useful.is_some_and(|useful| useful >= least);
    let useful = cell(useful, target.map(|wish| (wish.useful, is_useful(wish.useful))));
    let partly = balance
        .partial_overlap()
        .map_or(String::new(), |overlap| format!(" (overlap {overlap:.2})"));
    let name = if first { found.pair.name.as_str() } else { "" };
    format!(
        "<tr{}><th title=\"{}\">{}</th><th>{}{partly}</th><td>{}</td>{unfairness}{useful}\
         <td>{:.2}</td><td>{}</td><td>{}</td><td title=\"voluntary + involuntary\">{}</td></tr>\n",
        if first { " class=\"first\"" } else { "" },
        escape(&found.pair.shows),
        escape(name),
        escape(runtime),
        each(&|share| Some(format!("{:.0}", 100.0 * share.slowdown))),
        balance.throughput,
        each(&|share| share.variation.map(|variation| format!("{:.0}", 100.0 * variation))),
        each(&|share| share.processors.map(|processors| format!("{processors:.2}"))),
        each(&|share| share.switches.map(|(waits, taken)| format!("{waits:.0} + {taken:.0}")))
    )
}

fn averages_of(averages: &[Average]) -> String {
    let row = |average: &Average| {
        format!(
            "<tr><th>{}</th><td>{:.0}</td><td>{:.2}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&average.runtime),
            100.0 * average.unfairness,
            average.throughput,
            average
                .variation
                .map_or("–".to_owned(), |variation| format!("{:.1}", 100.0 * variation)),
            average.pairs
        )
    };
    if averages.is_empty() {
        return String::new();
    }
    let rows: String = averages.iter().map(row).collect();
    format!(
        "<table class=\"numbers\">\n<tr><th>averages</th><th>unfairness, points</th><th>throughput</th><th>variation, %</th>\
         <th>pairs</th></tr>\n{rows}</table>\n"
    )
}

/// Programs alone.
fn alone(summary: &Summary) -> String {
    let mut rows = String::new();
    for solo in &summary.solos {
        let Some(title) = title(solo) else { continue };
        for (place, (runtime, rate)) in solo.rates.iter().enumerate() {
            let name = if place == 0 { title.as_str() } else { "" };
            let first = if place == 0 { " class=\"first\"" } else { "" };
            let (name, runtime) = (escape(name), escape(runtime));
            rows +=
                &format!("<tr{first}><th>{name}</th><th>{runtime}</th><td>{rate:.0}</td></tr>\n");
        }
    }
    let rounds = match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<p>Rounds a second: steps of a leaf, leaves in parallel, leaves in a row before them.</p>\n\
             <table class=\"numbers\">\n<tr><th>rounds</th><th>runtime</th><th>a second</th></tr>\n{rows}</table>\n"
        ),
    };
    let costs = costs(summary);
    if rounds.is_empty() && costs.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>Programs alone</h2>\n{rounds}{costs}</section>\n")
}

/// What each governor costs an application that is alone: section 5.5 of the paper.
fn costs(summary: &Summary) -> String {
    let row = |cost: &Cost| {
        let each: Vec<String> =
            cost.each.iter().map(|(app, ratio)| format!("{app} {ratio:.2}")).collect();
        let (runtime, each) = (escape(&cost.runtime), escape(&each.join(", ")));
        format!("<tr><th>{runtime}</th><td>{:.2}</td><td>{each}</td></tr>\n", cost.mean())
    };
    let rows: String = summary.costs().iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<p>Applications: the time relative to that with {ABP}. The paper (section 5.5) finds that waking by busy workers costs \
         7 % on average, and global information 43 %, with 32 workers.</p>\n\
         <table class=\"numbers\">\n<tr><th>runtime</th><th>mean</th><th>each</th></tr>\n{rows}</table>\n"
    )
}

fn circumstances(record: &Record) -> String {
    let common = &record.header.common;
    let versions = &common.versions;
    let peers: Vec<String> = record
        .header
        .peers
        .iter()
        .map(|peer| format!("{}: {} ({})", peer.runtime, peer.version, peer.build))
        .collect();
    let of_ours =
        format!("Locksley {}, rayon {}, {}", versions.locksley, versions.rayon, versions.rustc);
    tables::facts(
        &common.machine,
        &[
            ("measured", format!("{} to {}", record.started, record.finished)),
            ("versions", of_ours),
            ("peers", if peers.is_empty() { "none".to_owned() } else { peers.join("; ") }),
            ("build", versions.build.clone()),
            ("seed", common.plan.seed.to_string()),
        ],
    )
}

fn method(record: &Record) -> String {
    let plan = &record.header.common.plan;
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Every program is a process of its own, at normal priority, with nobody's settings for its runtime. Each prepares itself, \
says that it is ready, and begins when all are.</li>
<li>Rounds are repeated for {} s side by side, {} s alone. Runtimes take turns, in rotations through everything. Slowdowns are \
relative to the median alone in the same run, of the same runtime; unfairness is that of each run, of which mean and worst are \
given.</li>
<li>Applications compute at least {} times each, and for at least {} s, side by side. They are prepared once; what only resets \
their input is not part of the times. All answers are checked.</li>
<li>Useful: leaves completed, times the time of a leaf on one busy thread alone, over the time of all processors. It can exceed 1 \
by the noise of that time.</li>
<li>Processor time and context switches are those of the threads that were there all the time, from the start to the end of the \
co-run, by the process's own account. A yield is a switch that the kernel calls involuntary.</li>
</ul>",
        plan.seconds, plan.solo_seconds, plan.computations, plan.application_seconds
    )
}
