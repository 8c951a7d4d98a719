//! The page as a whole.

use super::theme::{self, Marker};
use super::{bars, charts, finding, tables};
use crate::experiments::cliff::plan;
use crate::experiments::cliff::summary::{Beside, InputSummary, Summary};
use crate::record::Record;

pub(super) const STYLE: &str = include_str!("style.css");

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let workers = &record.plan.workers;
    let gallery = |chart: fn(&Summary, &InputSummary, &[usize]) -> String| -> String {
        let figures =
            summary.inputs.iter().map(|input| figure(input, &chart(summary, input, workers)));
        format!("<div class=\"gallery\">\n{}</div>", figures.collect::<String>())
    };
    let shares = tables::shares(summary);
    let pictures = pictures(summary, workers);
    let headline = escape(&finding::headline(summary));
    let subject = finding::subject(summary)
        .map_or(String::new(), |subject| format!("{}. ", escape(&subject)));
    let extent = if record.plan.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(&record.plan)))
    } else {
        String::new()
    };
    let disturbance = disturbance(summary.taken_by_others());
    let legend = legend(summary);
    let processors = summary.capacity;
    let (speedups, utilizations) = (gallery(charts::speedup), gallery(charts::utilization));
    let (characteristics, table) =
        (tables::characteristics(summary), tables::utilizations(record, summary));
    let circumstances = tables::circumstances(record);
    let method = method(record, summary);
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · the performance cliff · {processors} processors</p>
<h1>{headline}</h1>
{pictures}
{shares}
<p class=\"note\">{subject}Shares are utilizations, T1/(PA·TP). \
Where serial copies side by side slow each other down, a ceiling is drawn: what one of them keeps of its speed.</p>
{extent}
{disturbance}</header>
<section>
<h2>Speedup over the number of workers</h2>
<p>T1/TP, as in figure 1 of the Hood papers. Up to the number of processors, more workers should be faster; beyond \
it, they should at least not be slower.</p>
{legend}
{speedups}
</section>
<section>
<h2>Utilization of the processors</h2>
<p>T1/(PA·TP): the share of the processors' time that goes into the work. PA is the smaller of P and the number of \
processors.</p>
{legend}
{utilizations}
</section>
<section>
<h2>Times with one worker for each processor</h2>
<p>Table 2 of the papers. Ts is the serial program, T1 the parallel one with one worker, in seconds. T1/Ts is what being \
parallel costs. T∞ is the critical path, as the meter has it with one worker, and T1/T∞ the parallelism: there T1 is the meter's, too, since metering \
makes both longer.</p>
{characteristics}
</section>
<section>
<h2>Utilization in figures</h2>
<p>Marked where less than 90 % of the ceiling is reached. Rest the pointer on a figure to see the times behind it.</p>
{table}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: the performance cliff", &body)
}

/// The charts that a page of the cliff begins with, each with its title and what it shows: more
/// workers than processors, where static partitioning falls lowest; and speed beside two busy
/// threads.
pub(super) fn charts_at_the_top(
    summary: &Summary,
    workers: &[usize],
) -> Vec<(&'static str, &'static str, String)> {
    let mut all = Vec::new();
    if let Some(input) = finding::lowest_input(summary) {
        let svg = charts::utilization(summary, input, workers);
        all.push(("More workers than processors", "utilization of the processors", svg));
    }
    if !summary.beside.is_empty() {
        let bar = |found: &Beside| (found.runtime.clone(), found.share);
        let mut bars: Vec<_> = summary.beside.iter().map(bar).collect();
        bars.push(("fair share".to_owned(), summary.fair_share()));
        let svg = bars::svg("speed beside two busy threads over speed alone", &bars);
        all.push(("Beside two busy threads", "speed over the speed alone", svg));
    }
    all
}

fn pictures(summary: &Summary, workers: &[usize]) -> String {
    let figure = |(title, about, svg)| {
        let caption = format!("<b>{title}</b> <span>{about}</span>");
        format!("<figure>\n<figcaption>{caption}</figcaption>\n{svg}</figure>\n")
    };
    let figures: String = charts_at_the_top(summary, workers).into_iter().map(figure).collect();
    format!("<div class=\"gallery\">\n{figures}</div>{}", legend(summary))
}

/// A paragraph on what a quick run leaves out; nothing where nothing is left out.
pub(super) fn extent(subset: Option<String>) -> String {
    let paragraph = |subset: String| format!("<p class=\"note\">{}.</p>", escape(&subset));
    subset.map_or(String::new(), paragraph)
}

/// A paragraph on the processors that others took, if that is worth a word.
pub(super) fn disturbance(taken: Option<f64>) -> String {
    let warning = |taken| {
        format!(
            "<p class=\"warning\">Others took {taken:.2} processors while this was measured. All figures suffer from \
             that; measure again when the machine is quiet.</p>\n"
        )
    };
    taken.map_or(String::new(), warning)
}

/// A page with this title and body.
pub(super) fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
{body}
</body>
</html>
"
    )
}

pub(super) fn figure(summary: &InputSummary, svg: &str) -> String {
    let input = &summary.input;
    format!(
        "<figure>\n<figcaption><b>{}</b> {} <span>{}</span></figcaption>\n{svg}</figure>\n",
        escape(&input.app),
        escape(&input.size),
        escape(&input.shows)
    )
}

/// The legend, for the runtimes that occur, drawn as in the charts.
fn legend(summary: &Summary) -> String {
    let runtimes = summary.inputs.iter().flat_map(|input| &input.runtimes);
    key(&runtimes.map(|found| found.runtime.as_str()).collect::<Vec<_>>(), true)
}

/// The legend for these runtimes.
pub(super) fn key(runtimes: &[&str], with_ceiling: bool) -> String {
    let mut entries = looks(runtimes);
    entries +=
        &entry("ideal", "<path d=\"M0 7h34\" stroke=\"var(--ideal)\" stroke-dasharray=\"5 4\"/>");
    if with_ceiling {
        entries += &entry(
            "ceiling, if below the ideal",
            "<path d=\"M0 7h34\" stroke=\"var(--ceiling)\" stroke-width=\"2\" stroke-dasharray=\"2 3\"/>",
        );
    }
    format!("<p class=\"legend\">{entries}</p>")
}

/// The entries of a legend for these runtimes alone.
pub(super) fn looks(runtimes: &[&str]) -> String {
    let known = theme::RUNTIMES.iter().rev().map(|look| look.name);
    let mut names: Vec<&str> = known.filter(|name| runtimes.contains(name)).collect();
    // Those without a look of their own all look alike.
    for name in runtimes {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut entries = String::new();
    for name in names {
        let (look, ink) = theme::look(name);
        let colour = format!("var({})", ink.variable());
        let dashes = if look.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let marker = match look.marker {
            Marker::Disc => format!("<circle cx=\"17\" cy=\"7\" r=\"4\" fill=\"{colour}\"/>"),
            Marker::Ring => format!(
                "<circle cx=\"17\" cy=\"7\" r=\"4\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            ),
            Marker::Triangle => format!("<path d=\"M17 2l5 8.5h-10z\" fill=\"{colour}\"/>"),
            Marker::Square => format!("<path d=\"M13 3h8v8h-8z\" fill=\"{colour}\"/>"),
        };
        entries += &entry(
            name,
            &format!(
                "<path d=\"M0 7h34\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>{marker}"
            ),
        );
    }
    entries
}

fn entry(name: &str, drawing: &str) -> String {
    format!(
        "<span><svg width=\"34\" height=\"14\" aria-hidden=\"true\">{drawing}</svg> {}</span>\n",
        escape(name)
    )
}

fn method(record: &Record, summary: &Summary) -> String {
    let granted = granted(summary);
    let rounds = record.plan.rounds.map_or(String::new(), |rounds| {
        format!(
            "<li>Rounds are repeated for {} s: {} leaves of {} steps of xorshift64 in parallel after {} in a row; the time \
             is that of a round.</li>\n",
            rounds.seconds, rounds.round.chunks, rounds.round.leaf, rounds.round.serial
        )
    });
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Every runtime starts all of its P workers, and a time begins when they have started. It is the time of the \
computation alone. Every answer is checked: heat and ray bit for bit against the serial program, mm and lu by residual, \
barnes by direct summation, energy and bit for bit, msort by order and content, knary by count.</li>
<li>The runtimes take turns, for each number of workers, in up to {} rotations through everything; figures are \
medians.</li>
{rounds}<li>The static versions give each of P threads an equal share, with a barrier after each phase.</li>
<li>The ceiling: PA serial copies run side by side, and their best time is compared with the best of one that runs alone. What they lose to \
shared memory, caches or neighbours no scheduler can win back.</li>
</ul>
<h3>What to keep in mind</h3>
<ul>
<li>PA is taken as min(P, processors), as if the machine were ours. {granted}</li>
<li>Speedups are relative to each runtime's own T1, as in the papers. Compare T1/Ts before comparing runtimes.</li>
<li>Time slices of the kernel even out long phases: a static partition falls where its phases are short compared with \
a slice, or few.</li>
<li>How many of the P workers are awake is the governor's choice; locksley-awake is one that keeps all of them awake.</li>
</ul>",
        record.plan.repeats
    )
}

/// What the meter saw of PA.
fn granted(summary: &Summary) -> String {
    let granted: Vec<f64> = summary.inputs.iter().filter_map(|input| input.granted).collect();
    match (granted.iter().copied().reduce(f64::min), granted.iter().copied().reduce(f64::max)) {
        (Some(least), Some(most)) => format!(
            "The meter saw {least:.2} to {most:.2} of {} processors that were not taken by others, input by input.",
            summary.capacity
        ),
        _ => "What others took was not metered.".to_owned(),
    }
}

/// `text` as HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
