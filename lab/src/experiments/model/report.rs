//! What is said of a record of the model: figures 2 to 5 of the papers, and the constants.

use super::CALIBRATION;
use super::bound::{self, Fit, Point, TARGET};
use super::granted::{self, Beside};
use super::points::{points, subjects, work_and_span};
use crate::experiment::prelude::*;

/// What is said of a record.
pub(super) fn report(record: &Record) -> Report {
    let rate = record.median(CALIBRATION, "an idle machine", 1, "increments a second");
    let points = points(record, rate);
    let is_alone = |point: &&Point| point.beside.is_empty();
    let (alone, beside): (Vec<&Point>, Vec<&Point>) = points.iter().partition(is_alone);
    let groups = [("alone", alone), ("beside cyclers", beside)];
    let fits = groups.each_ref().map(|(_, points)| bound::fit(points.iter().copied()));
    let headline = match fits.iter().flatten().next() {
        Some(fit) => format!("T = c1·T1/PA + c∞·T∞·P/PA with {}", in_words(fit)),
        None => "Utilization over the normalized number of processes".to_owned(),
    };
    let mut sections = Vec::new();
    for ((name, points), fit) in groups.iter().zip(&fits) {
        if !points.is_empty() {
            sections.push(section(name, points, fit.as_ref()));
        }
    }
    sections.push(Section::new(
        "Work, span and constants",
        "T1 with one worker that is alone; T∞ and the T1 of T1/T∞ by the profiler with \
         one worker. The constants by least squares, with 95 % intervals over inputs.",
        [inputs(record), constants(&points)],
    ));
    sections.push(comparison(record, rate));
    let notes = envelope_in_words(&points).into_iter().collect();
    Report { notes, ..Report::new("Hood's model", headline, sections, include_str!("method.txt")) }
}

fn section(name: &str, points: &[&Point], fit: Option<&Fit>) -> Section {
    let chart = |is_knary: bool| {
        let of_kind = points.iter().filter(|it| it.subject.starts_with("knary") == is_knary);
        let by_app = of_kind.chunk_by(|it| it.subject.split(' ').next().unwrap_or_default());
        let lines = by_app
            .into_iter()
            .map(|(app, points)| (app.to_owned(), points.map(|point| point.at()).collect_vec()));
        let xs = || points.iter().map(|point| point.normalized);
        let (least, most) = (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max));
        let at = |step: i32| least * (most / least).powf(f64::from(step) / 40.0);
        let curve = |constants| {
            (0..=40).map(at).map(|x| (x, bound::utilization(constants, x))).collect_vec()
        };
        let fitted = fit.map(|fit| ("fitted".to_owned(), curve((fit.c1, fit.c_inf))));
        let target = (format!("c1 = {}, c∞ = {}", TARGET.0, TARGET.1), curve(TARGET));
        Chart {
            title: if is_knary { "knary" } else { "applications" }.to_owned(),
            across: "P·T∞/T1".to_owned(),
            unit: "utilization".to_owned(),
            is_logarithmic: true,
            is_dotted: true,
            references: fitted.into_iter().chain([target]).collect(),
            lines: lines.collect(),
            ..Chart::default()
        }
    };
    let workers = points.iter().map(|point| point.workers).sorted().dedup().collect_vec();
    let heads = workers.iter().map(|workers| format!("P = {workers}"));
    let title = "utilization T1/(PA·TP), and PA in brackets";
    let mut table = Table::new(title, ["", "beside"].map(str::to_owned).into_iter().chain(heads));
    for (subject, beside) in points.iter().map(|it| (&it.subject, &it.beside)).unique() {
        let cell = |workers: &usize| {
            let is_it =
                |it: &&&Point| (&it.subject, &it.beside, &it.workers) == (subject, beside, workers);
            points.iter().find(is_it).map_or_else(String::new, |point| {
                format!("{:.2} ({:.2})", point.utilization, point.processors)
            })
        };
        table.row([subject.clone(), beside.clone()].into_iter().chain(workers.iter().map(cell)));
    }
    Section::new(
        format!("Utilization {name}"),
        "Over the normalized number of processes; no point should lie under the curve with \
         c1 = 1.05 and c∞ = 2.",
        [table],
    )
    .with_charts([true, false].map(chart))
}

fn inputs(record: &Record) -> Table {
    let mut table = Table::new("in seconds", ["", "T1", "T∞", "T1/T∞"]);
    for subject in subjects(record) {
        if let Some((work, span, parallelism)) = work_and_span(record, subject) {
            let [work, span, parallelism] = [work, span, parallelism].map(number);
            table.row([subject, &work, &span, &parallelism]);
        }
    }
    table
}

fn constants(points: &[Point]) -> Table {
    let mut table = Table::new("constants", [""].into_iter().chain(Fit::HEADS));
    let is_knary = |point: &&Point| point.subject.starts_with("knary");
    let rows = [
        ("knary", bound::fit(points.iter().filter(is_knary))),
        ("the other applications", bound::fit(points.iter().filter(|point| !is_knary(point)))),
        ("alone", bound::fit(points.iter().filter(|point| point.beside.is_empty()))),
        ("beside cyclers", bound::fit(points.iter().filter(|point| !point.beside.is_empty()))),
        ("all", bound::fit(points.iter())),
    ];
    for (name, fit) in rows {
        let Some(fit) = fit else { continue };
        table.row([name.to_owned()].into_iter().chain(fit.cells()));
    }
    table
}

/// PA by the papers' method beside PA by the system's account.
fn comparison(record: &Record, rate: Option<f64>) -> Section {
    let columns =
        ["beside", "measurements", "PA", "papers' method: more by", "distance", "at most"];
    let mut table = Table::new("PA by the system's account, and by the papers' method", columns);
    let mut all = Vec::new();
    for runtime in record.runtimes().into_iter().filter(|name| Beside::of(name).is_some()) {
        let cells = record.plan.cells.iter().filter(|cell| cell.runtime == runtime);
        let shared =
            cells.filter_map(|it| granted::shared(record, &it.subject, runtime, it.workers, rate));
        let both = shared.flat_map(|shared| shared.both).collect_vec();
        let cycler = Beside::of(runtime).map_or_else(String::new, |beside| beside.to_string());
        table.rows.extend(granted::row(&cycler, &both));
        all.extend(both);
    }
    table.rows.extend(granted::row("all", &all));
    let about = "The papers take the machine less what the cycler counted.";
    Section::new("Processors granted", about, [table])
}

fn in_words(fit: &Fit) -> String {
    let (of_c1, of_c_inf) = match fit.margins {
        Some((c1, c_inf)) => (format!(" ± {c1:.3}"), format!(" ± {c_inf:.2}")),
        None => (String::new(), String::new()),
    };
    format!("c1 = {:.3}{of_c1} and c∞ = {:.2}{of_c_inf}", fit.c1, fit.c_inf)
}

fn envelope_in_words(points: &[Point]) -> Option<String> {
    let envelope = bound::envelope(points);
    let (all, under) = (points.len(), envelope.under.len());
    let (c1, c_inf) = TARGET;
    let farthest = envelope.under.first().map(|point| {
        let beside = if point.beside.is_empty() { "nothing" } else { &point.beside };
        format!(
            "({c1}, {c_inf}) is not a lower envelope: {under} of {all} points lie under its curve; \
             one would be ({:.2}, {c_inf}), or ({c1}, {:.2}). The farthest is {} with P = {} \
             beside {beside}: utilization {:.2} at {:.3}",
            envelope.c1,
            envelope.c_inf,
            point.subject,
            point.workers,
            point.utilization,
            point.normalized
        )
    });
    let holds = || {
        format!("({c1}, {c_inf}) is a lower envelope: none of {all} points lies under its curve")
    };
    (all > 0).then(|| farthest.unwrap_or_else(holds))
}
