//! The page of `scatter`.

use std::path::Path;

use super::chart::Chart;
use super::circumstances::Circumstances;
use super::missing;
use super::page::{document, escape, looks};
use crate::experiments::scatter::once::{CURRENT, LAST, LOCAL};
use crate::experiments::scatter::plan::{self, Experiment};
use crate::experiments::scatter::record::Record;
use crate::experiments::scatter::summary::{
    ExperimentSummary, NetworkSummary, Point, Summary, Target, Utilization,
};
use crate::experiments::scatter::table::cells;
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
    let extent = escape(&plan::extent(&header.plan));
    let missing = missing::html(&record.missing);
    let targets = targets(summary);
    let sections: String = Experiment::ALL.map(|experiment| section(summary, experiment)).concat();
    let utilization = utilization(summary);
    let circumstances = Circumstances::of(record, header.plan.seed).table();
    let (runtimes, method) = (runtimes(), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · scatter and gather · {processors} processors</p>
<h1>{headline}</h1>
{targets}
<p class=\"note\">{extent}.</p>
{missing}</header>
{sections}
{utilization}
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>What is compared</h3>
{runtimes}
{method}
</section>"
    );
    document("Locksley: scatter and gather", &body)
}

/// The finding, computed: how much of the processors' time is work, or else how the placements compare.
fn headline(summary: &Summary) -> String {
    let of = |found: &Utilization| {
        let (share, micros) = (100.0 * found.utilization, found.subject.micros());
        format!("{share:.0} % with {micros} µs a message")
    };
    let ours = summary.utilizations.iter().filter(|found| found.runtime == LAST);
    let words: Vec<String> = ours.map(of).collect();
    if !words.is_empty() {
        return format!("The processors' time goes into the work: {}", words.join(", "));
    }
    let networks = || summary.experiments.iter().flat_map(|found| &found.networks);
    let ratios: Vec<f64> = networks().filter_map(NetworkSummary::ratio).collect();
    if ratios.is_empty() {
        return "Scatter and gather".to_owned();
    }
    let ahead = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    format!("WS-LAST is faster than WS-CUR in {ahead} of {} networks", ratios.len())
}

/// What is wanted, and what it comes to.
fn targets(summary: &Summary) -> String {
    if summary.targets.is_empty() {
        return String::new();
    }
    let row = |target: &Target| {
        let mark = if target.is_reached() { "" } else { " class=\"low\"" };
        format!(
            "<tr><th>{}</th><td{mark}>{:.3}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&target.about),
            target.is,
            target.wanted(),
            target.verdict()
        )
    };
    let rows: String = summary.targets.iter().map(row).collect();
    format!(
        "<table class=\"shares\">\n<tr><th></th><th>median</th><th>wanted</th><th></th></tr>\n{rows}</table>"
    )
}

/// The title of an experiment, what it is about, and what its horizontal axis counts.
fn about(experiment: Experiment) -> (&'static str, &'static str, &'static str) {
    match experiment {
        Experiment::Division => (
            "Experiment 1: the same work in ever smaller messages",
            "Figure 3 of the study. The work of a message is 1/d seconds, and the work of all rounds is the same, give or take a tenth. There WS-CUR fell off from \
             d = 10,000 on.",
            "d, work division",
        ),
        Experiment::Processes => (
            "Experiment 2: ever more processes",
            "Figure 4: 100 µs of work a message.",
            "n, processes",
        ),
        Experiment::Work => (
            "Experiment 3: ever more work in a message",
            "Figure 5. There WS-LAST came near the best at less work than WS-CUR.",
            "w, µs a message",
        ),
        Experiment::Sawtooth => (
            "Experiment 4: what does not divide evenly",
            "Figure 6: 800 µs of work a message, WS-LAST. In a round each worker runs one process after the other; where their number is \
             not divisible by that of the workers, some of these have nothing to do in the end.",
            "n, processes",
        ),
        Experiment::Utilization => ("", "", ""),
    }
}

fn section(summary: &Summary, experiment: Experiment) -> String {
    let Some(found) = summary.on(experiment) else { return String::new() };
    let (title, text, across) = about(experiment);
    // Lines run over what differs within an experiment, and there is a chart for each value of the other.
    let charts: String = if matches!(experiment, Experiment::Division | Experiment::Work) {
        let mut numbers: Vec<u64> =
            found.networks.iter().map(|network| network.subject.processes).collect();
        numbers.dedup();
        let of = |number: u64| {
            let own = found.networks.iter();
            let own: Vec<_> = own.filter(|network| network.subject.processes == number).collect();
            charts(summary, experiment, &own, across, &format!("n = {number}"))
        };
        numbers.into_iter().map(of).collect()
    } else {
        let all: Vec<_> = found.networks.iter().collect();
        charts(summary, experiment, &all, across, "")
    };
    let names: &[&str] =
        if experiment == Experiment::Sawtooth { &[LAST] } else { &[LAST, CURRENT] };
    let (legend, table) = (looks(names), table(summary, found));
    format!(
        "<section>\n<h2>{title}</h2>\n<p>{text}</p>\n<p class=\"legend\">{legend}</p>\n<div class=\"gallery\">\n{charts}</div>\n\
         <details>\n<summary>Figures</summary>\n{table}</details>\n</section>\n"
    )
}

/// The place of a network on the horizontal axis.
fn place(experiment: Experiment, network: &NetworkSummary) -> usize {
    let place = match experiment {
        Experiment::Division => network.division(),
        Experiment::Work => network.subject.nanos / 1000,
        Experiment::Processes | Experiment::Sawtooth | Experiment::Utilization => {
            network.subject.processes
        }
    };
    // What a chart cannot show lies at its edge; a logarithm needs one at least.
    usize::try_from(place).unwrap_or(usize::MAX).max(1)
}

/// Speedup, and steal attempts, over the place.
fn charts(
    summary: &Summary,
    experiment: Experiment,
    networks: &[&NetworkSummary],
    across: &'static str,
    which: &str,
) -> String {
    let mut places: Vec<usize> = networks.iter().map(|found| place(experiment, found)).collect();
    places.sort_unstable();
    places.dedup();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
        return String::new();
    };
    let line = |runtime: &str, value: &dyn Fn(&Point) -> f64| {
        let at = |network: &&NetworkSummary| {
            let point = if runtime == LAST { network.last } else { network.current };
            Some((place(experiment, network), value(&point?)))
        };
        let mut points: Vec<_> = networks.iter().filter_map(at).collect();
        points.sort_unstable_by_key(|point| point.0);
        (runtime.to_owned(), points)
    };
    let draw = |title: &str, unit: &'static str, value: &dyn Fn(&Point) -> f64, ideal| {
        // What is drawn last lies on top.
        let lines = [CURRENT, LAST].map(|runtime| line(runtime, value));
        let chart = Chart {
            title: format!("{title} over {across} {which}"),
            unit,
            across,
            workers: ticks(&places),
            // The axis does not count workers: no cliff begins anywhere.
            processors: 1.0,
            ideal,
            ceiling: Vec::new(),
            lines: lines.into_iter().filter(|(_, points)| !points.is_empty()).collect(),
        };
        let is_flat = chart.lines.iter().flat_map(|line| &line.1).all(|point| point.1 <= 0.0);
        if is_flat && chart.ideal.is_empty() {
            return String::new();
        }
        let (head, svg) = (escape(which), chart.svg());
        format!(
            "<figure>\n<figcaption><b>{head}</b> <span>{title}</span></figcaption>\n{svg}</figure>\n"
        )
    };
    let most = summary.workers as f64;
    let speedup = format!("speedup of {} workers over one", summary.workers);
    let ideal = vec![(first, most), (last, most)];
    draw(&speedup, "speedup", &|point| point.speedup, ideal)
        + &draw(
            "steal attempts a second, of all workers",
            "10³/s",
            &|point| point.attempts / 1e3,
            Vec::new(),
        )
}

/// The first and the last place, and of those between no more than can be read: about a ninth of the axis apart.
fn ticks(places: &[usize]) -> Vec<usize> {
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return Vec::new() };
    let apart = (last as f64 / first as f64).powf(1.0 / 9.0);
    let are_apart = |one: usize, other: usize| other as f64 >= apart * one as f64;
    let mut ticks = vec![first];
    for &place in &places[1..] {
        let before = ticks[ticks.len() - 1];
        if place == last || are_apart(before, place) && are_apart(place, last) {
            ticks.push(place);
        }
    }
    ticks
}

fn table(summary: &Summary, found: &ExperimentSummary) -> String {
    let row = |network: &NetworkSummary| {
        let NetworkSummary { subject, one, last, current } = network;
        let points: String = [last, current].map(|point| cell(point.as_ref())).concat();
        let ratio = network.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}"));
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{:.4}</td>{points}<td>{ratio}</td></tr>\n",
            subject.processes,
            subject.micros(),
            subject.rounds,
            one.median
        )
    };
    let rows: String = found.networks.iter().map(row).collect();
    let workers = summary.workers;
    format!(
        "<table class=\"numbers\">\n<tr><th>n</th><th>w, µs</th><th>m</th><th>T1, s</th><th>T1/T{workers}, WS-LAST</th>\
         <th>10³ attempts/s</th><th>T1/T{workers}, WS-CUR</th><th>10³ attempts/s</th><th>LAST over CUR</th></tr>\n{rows}</table>\n"
    )
}

fn cell(point: Option<&Point>) -> String {
    let Some(point) = point else { return "<td></td><td></td>".to_owned() };
    let (speedup, attempts) = cells(point);
    let times = &point.times;
    format!(
        "<td title=\"{:.4} s, from {:.4} to {:.4}, {} times\">{speedup}</td><td>{attempts}</td>",
        times.median, times.least, times.most, times.number
    )
}

fn utilization(summary: &Summary) -> String {
    if summary.utilizations.is_empty() {
        return String::new();
    }
    let row = |found: &Utilization| {
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><th>{}</th><td>{:.3}</td><td>{}</td><td>{:.1}</td></tr>\n",
            found.subject.processes,
            found.subject.micros(),
            found.subject.rounds,
            escape(&found.runtime),
            found.utilization,
            found.ceiling.map_or(String::new(), |ceiling| format!("{ceiling:.3}")),
            found.attempts / 1e3
        )
    };
    let rows: String = summary.utilizations.iter().map(row).collect();
    format!(
        "<section>\n<h2>Utilization</h2>\n<p>Ts/(PA·TP): which share of the processors' time is spent computing, with {} workers; Ts is the same \
         work in a loop. The ceiling is what the same loop in equal shares reaches, without processes, messages or rounds.</p>\n\
         <table class=\"numbers\">\n<tr><th>n</th><th>w, µs</th><th>m</th><th>placement</th><th>utilization</th><th>ceiling</th>\
         <th>10³ attempts/s</th></tr>\n{rows}</table>\n</section>\n",
        summary.workers
    )
}

fn runtimes() -> String {
    let row = |local: &crate::experiments::scatter::once::Local| {
        format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(local.name), escape(local.about))
    };
    let rows: String = LOCAL.iter().map(row).collect();
    format!("<table class=\"facts\">\n{rows}</table>")
}

fn method(record: &Record) -> String {
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>A central process sends each of n others a message, which has them divide 64-bit integers for w, and waits for all answers: a \
round. There are m rounds. All channels hold one message. The time is that of the rounds, after one more to warm up.</li>
<li>Each measurement is made by a process of its own, with fresh workers. It first finds out how many divisions take w here; by how much that \
differs from the median of all processes is taken out of its time.</li>
<li>Every answer is checked: the central process adds up what it receives, each answer times its place, which must be what \
a formula says.</li>
<li>The placements take turns, in up to {} rotations through everything; figures are medians, as in the study.</li>
<li>With one worker the two placements are the same, and both are compared with its time.</li>
<li>Steal attempts are those that found something and those that did not, of all workers, over the time in which the network ran.</li>
</ul>
<h3>What to keep in mind</h3>
<ul>
<li>The study had eight processors, and run-queues behind locks. Locksley's thieves sleep when there is nothing to be had, and take no \
locks, so few attempts are made where Nornir's processors made hundreds of thousands a second.</li>
<li>Fewer rounds than in the study make the beginning and the end of a network count for more.</li>
</ul>",
        record.header.plan.repeats
    )
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_begin_and_end_with_the_places_and_leave_room() {
        assert!(ticks(&[]).is_empty());
        assert_eq!(ticks(&[16]), [16]);
        assert_eq!(ticks(&[8, 16, 32]), [8, 16, 32]);
        let all: Vec<usize> = (16..=48).collect();
        assert_eq!(ticks(&all), [16, 19, 22, 25, 29, 33, 38, 48]);
        assert_eq!(ticks(&[100, 1000, 30_000, 90_000, 100_000]), [100, 1000, 30_000, 100_000]);
    }
}
