//! What is said of a record: ratios with their verdicts, and figures of each contestant.

use super::contest;
use super::once::{PHASES, ROUNDS};
use super::subject::{Contestant, Subject, TURNKEY};
use super::{SETTINGS, TARGET, of as contestant};
use crate::experiment::estimate::{Estimate, Verdict, median};
use crate::experiment::text::number;
use crate::experiment::{Chart, Record, Report, Section, Table};

/// The metrics of tables.
const KEPT: [&str; 4] = ["used up per s", "share of periods", "stopped", "worked"];
const PHASE: [&str; 3] = ["awake", "working", "rounds per s"];
const OF_ROUNDS: [&str; 6] = [
    "median round ms",
    "p99 round ms",
    "worst round ms",
    "median late ms",
    "p99 late ms",
    "worst late ms",
];
const MOVED: [&str; 5] =
    ["workers", "lowered after s", "raised after s", "free rounds per s", "tight rounds per s"];

const METHOD: [&str; 4] = [
    "Turnkey is the pool that chooses its number of workers; P = 2 is the same pool with two. A \
     ratio is of two figures of one rotation; the median and its interval of 95 % are given. The \
     best number is chosen by one half of the rotations for the other half.",
    "An application is measured in one process, in which all take turns in random order: short \
     ones, alone and beside a cycler, each after a computation that does not count; under a quota \
     one long turn of whole periods. Every answer is checked, outside of the time.",
    "Under a quota: how many of ten periods in a second were used up, how many processors that \
     stopped, and how many the process used. Rounds run beside a thread that sleeps for a \
     millisecond again and again; it is measured how late it wakes.",
    "The worst round and lateness, and the longest time until a pool followed a move, are those of \
     all rotations; all else are medians.",
];

/// See [`Experiment::report`](crate::experiment::Experiment::report).
pub(super) fn of(record: &Record) -> Report {
    let mut names: Vec<&str> = record.plan.cells.iter().map(|cell| &cell.subject[..]).collect();
    names.dedup();
    let subjects: Vec<Subject<'_>> =
        names.into_iter().filter_map(|name| Subject::parse(name).ok()).collect();
    let only = |is_it: &dyn Fn(Subject<'_>) -> bool| -> Vec<Subject<'_>> {
        subjects.iter().copied().filter(|subject| is_it(*subject)).collect()
    };
    let (mut sections, mut findings) = (Vec::new(), Vec::new());
    for setting in SETTINGS {
        let apps = only(&|subject| matches!(subject, Subject::App(_, its) if its == setting));
        let (mut section, verdicts) = compare(record, &format!("Applications {setting}"), &apps);
        section.tables.push(figures(record, "how the quota was kept", &apps, &KEPT));
        sections.push(section);
        let [met, missed, undecided] = verdicts;
        if met + missed + undecided > 0 {
            let words = format!("{met} met, {missed} missed, {undecided} not decided");
            findings.push(format!("{setting}: {words}"));
        }
    }
    let phases = |parallelism| PHASE.map(|metric| format!("{metric} at {parallelism}"));
    let phases: Vec<String> = PHASES.into_iter().flat_map(phases).collect();
    let phases: Vec<&str> = phases.iter().map(String::as_str).collect();
    let of_phases = only(&|subject| subject == Subject::Phases);
    let about = "A program does rounds of 1, of 4 and of 64 tasks: workers awake and at work.";
    sections.push(Section::new(
        "Phases",
        about,
        Vec::new(),
        vec![figures(record, "medians", &of_phases, &phases)],
    ));
    let quotas = only(&|subject| matches!(subject, Subject::Quota(_)));
    let (mut rounds, _) = compare(record, "Rounds under quotas", &quotas);
    let all: Vec<&str> = [&[ROUNDS][..], &OF_ROUNDS, &KEPT].concat();
    rounds.tables.push(figures(record, "rounds, and how late a thread wakes", &quotas, &all));
    sections.push(rounds);
    let about = "A program is moved to a group with a quota of one processor, and back.";
    let moves = figures(record, "moves", &only(&|subject| subject == Subject::Moved), &MOVED);
    sections.push(Section::new("Moved while it works", about, Vec::new(), vec![moves]));
    let headline = match findings.is_empty() {
        true => "Pools that choose their number of workers".to_owned(),
        false => format!(
            "Within {:.0} % of the best number of workers, with none given: {}",
            100.0 * (TARGET - 1.0),
            findings.join("; ")
        ),
    };
    let method = METHOD.map(str::to_owned).to_vec();
    Report {
        title: "turnkey".to_owned(),
        headline,
        notes: Vec::new(),
        sections,
        method,
        ..Report::default()
    }
}

/// All contestants of a subject, in their order.
fn contestants<'r>(record: &'r Record, subject: &str) -> Vec<Contestant<'r>> {
    record.plan.cells.iter().filter(|cell| cell.subject == subject).map(contestant).collect()
}

/// What turnkey takes for each subject over the best number, and over each of the others; and how
/// many targets are met, missed and not decided.
fn compare(record: &Record, title: &str, subjects: &[Subject<'_>]) -> (Section, [usize; 3]) {
    let about = format!(
        "What turnkey takes over the others. At most {TARGET} is wanted over the best number."
    );
    let mut table = Table::new(
        "turnkey over the best number",
        &["", "ms", "ratio", "95 %", "of", "best P", ""],
    );
    let mut rivals: Vec<Contestant<'_>> = Vec::new();
    let names: Vec<String> = subjects.iter().map(Subject::to_string).collect();
    for rival in names.iter().flat_map(|name| contestants(record, name)) {
        if rival != TURNKEY && !rivals.contains(&rival) {
            rivals.push(rival);
        }
    }
    let mut each = Table::new("turnkey over each of the others", &[""]);
    each.columns.extend(rivals.iter().map(|rival| rival.words()));
    let (mut bests, mut bars, mut verdicts) = (Vec::new(), Vec::new(), [0; 3]);
    for name in &names {
        let over: Vec<_> = rivals.iter().map(|rival| contest::over(record, name, *rival)).collect();
        if over.iter().all(Vec::is_empty) {
            continue;
        }
        let words = over.iter().map(|ratios| match contest::estimate(ratios) {
            Some(found) if found.is_bounded() => format!("{:.3} ({})", found.figure, span(found)),
            found => found.map_or_else(String::new, |found| format!("{:.3}", found.figure)),
        });
        each.row([name.clone()].into_iter().chain(words));
        let numbers = rivals.iter().zip(&over).filter(|(rival, _)| rival.is_fixed());
        let numbers: Vec<_> =
            numbers.map(|(rival, ratios)| (rival.workers, ratios.clone())).collect();
        let Some(best) = contest::best(&numbers) else { continue };
        let ms = contest::estimate(&contest::times(record, name, TURNKEY));
        let ms = ms.map_or_else(String::new, |seconds| number(1e3 * seconds.figure));
        let chosen = match best.chosen {
            [one, other] if one == other => one.to_string(),
            [one, other] => format!("{one}, {other}"),
        };
        let Some(found) = contest::estimate(&best.ratios) else { continue };
        verdicts[Verdict::of(found, TARGET) as usize] += 1;
        table.row(row(name, found, [ms, best.ratios.len().to_string(), chosen]));
        bars.push((name.clone(), found.figure));
        bests.push(best);
    }
    let are_apps = subjects.iter().all(|subject| matches!(subject, Subject::App(..)));
    if let Some(mean) = contest::mean(&bests).filter(|_| are_apps) {
        let about = format!("geometric mean of {}", bests.len());
        table.row(row(&about, mean, ["", "", ""].map(str::to_owned)));
    }
    let unit = "turnkey over the best number".to_owned();
    let charts = match bars.is_empty() {
        true => Vec::new(),
        false => vec![Chart::Bars { title: title.to_owned(), unit, bars }],
    };
    let section = Section::new(title, about, charts, vec![table, each]);
    (section, verdicts)
}

/// A figure with its interval and the verdict; the time, the number of readings, the choice.
fn row(name: &str, found: Estimate, [ms, of, best]: [String; 3]) -> [String; 7] {
    let verdict = Verdict::of(found, TARGET).word().to_owned();
    [name.to_owned(), ms, format!("{:.3}", found.figure), span(found), of, best, verdict]
}

/// An interval with three digits after the point; nothing if there is none.
fn span(found: Estimate) -> String {
    match found.is_bounded() {
        true => format!("{:.3} to {:.3}", found.low, found.high),
        false => String::new(),
    }
}

/// The figures of each contestant: medians, but the worst of what must not be bad even once.
fn figures(record: &Record, title: &str, subjects: &[Subject<'_>], metrics: &[&str]) -> Table {
    let mut table = Table::new(title, &[&["", "of"], metrics].concat());
    for name in subjects.iter().map(Subject::to_string) {
        for of in contestants(record, &name) {
            let values = |metric: &&str| record.values(&name, of.runtime, of.workers, metric);
            let number_of_values = metrics.iter().map(|metric| values(metric).len()).max();
            let Some(readings @ 1..) = number_of_values else { continue };
            let figure = |metric: &&str| {
                let is_worst = metric.starts_with("worst") || metric.ends_with("after s");
                let found = match is_worst {
                    true => values(metric).into_iter().reduce(f64::max),
                    false => median(&mut values(metric)),
                };
                found.map_or_else(String::new, number)
            };
            let start = [format!("{name}, {}", of.words()), readings.to_string()];
            table.row(start.into_iter().chain(metrics.iter().map(figure)));
        }
    }
    table
}
