//! What is said of a record: ratios with their verdicts, and how quotas were kept.

use super::contest;
use super::subject::{Contestant, Subject, TURNKEY};
use super::{SETTINGS, TARGET, of as contestant};
use crate::experiment::estimate::{Estimate, Verdict};
use crate::experiment::text::number;
use crate::experiment::{Chart, Record, Report, Section, Table};

/// The metrics of how a quota was kept.
const KEPT: [&str; 4] = ["used up per s", "share of periods", "stopped", "worked"];

const METHOD: [&str; 3] = [
    "Turnkey is the pool that chooses its number of workers; P = 2 is the same pool with two. A \
     ratio is of two figures of one rotation; the median and its interval of 95 % are given. The \
     best number is chosen by one half of the rotations for the other half.",
    "An application is measured in one process, in which all take turns in random order: short \
     ones, alone and beside a cycler, each after a computation that does not count; under a quota \
     one long turn of whole periods. Every answer is checked, outside of the time.",
    "Under a quota: how many of ten periods in a second were used up, how many processors that \
     stopped, and how many the process used.",
];

/// See [`Experiment::report`](crate::experiment::Experiment::report).
pub(super) fn of(record: &Record) -> Report {
    let mut names: Vec<&str> = record.plan.cells.iter().map(|cell| &cell.subject[..]).collect();
    names.dedup();
    let subjects: Vec<Subject<'_>> =
        names.into_iter().filter_map(|name| Subject::parse(name).ok()).collect();
    let (mut sections, mut findings) = (Vec::new(), Vec::new());
    for setting in SETTINGS {
        let apps = subjects.iter().filter(|subject| subject.setting == setting);
        let names: Vec<String> = apps.map(Subject::to_string).collect();
        let (mut section, [met, missed, undecided]) =
            compare(record, &format!("Applications {setting}"), &names);
        section.tables.push(quotas(record, &names));
        sections.push(section);
        if met + missed + undecided > 0 {
            let words = format!("{met} met, {missed} missed, {undecided} not decided");
            findings.push(format!("{setting}: {words}"));
        }
    }
    let headline = match findings.is_empty() {
        true => "Pools that choose their number of workers".to_owned(),
        false => format!(
            "Within {:.0} % of the best number of workers, with none given: {}",
            100.0 * (TARGET - 1.0),
            findings.join("; ")
        ),
    };
    let method = METHOD.map(str::to_owned).to_vec();
    Report { title: "turnkey".to_owned(), headline, sections, method, ..Report::default() }
}

/// All contestants of a subject, in their order.
fn contestants<'r>(record: &'r Record, subject: &str) -> Vec<Contestant<'r>> {
    record.plan.cells.iter().filter(|cell| cell.subject == subject).map(contestant).collect()
}

/// What turnkey takes for each subject over the best number, and over each of the others; and how
/// many targets are met, missed and not decided.
fn compare(record: &Record, title: &str, names: &[String]) -> (Section, [usize; 3]) {
    let about = format!(
        "What turnkey takes over the others. At most {TARGET} is wanted over the best number."
    );
    let mut table = Table::new(
        "turnkey over the best number",
        &["", "ms", "ratio", "95 %", "of", "best P", ""],
    );
    let mut rivals: Vec<Contestant<'_>> = Vec::new();
    for rival in names.iter().flat_map(|name| contestants(record, name)) {
        if rival != TURNKEY && !rivals.contains(&rival) {
            rivals.push(rival);
        }
    }
    let mut each = Table::new("turnkey over each of the others", &[""]);
    each.columns.extend(rivals.iter().map(|rival| rival.words()));
    let (mut bests, mut bars, mut verdicts) = (Vec::new(), Vec::new(), [0; 3]);
    for name in names {
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
    if let Some(mean) = contest::mean(&bests) {
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

/// How each contestant kept the quota.
fn quotas(record: &Record, names: &[String]) -> Table {
    let mut table = Table::new("how the quota was kept", &[&["", "of"], &KEPT[..]].concat());
    for name in names {
        for of in contestants(record, name) {
            let count = record.values(name, of.runtime, of.workers, KEPT[0]).len();
            if count > 0 {
                let median = |metric: &&str| record.median(name, of.runtime, of.workers, metric);
                let figures = KEPT.iter().map(|it| median(it).map_or_else(String::new, number));
                let start = [format!("{name}, {}", of.words()), count.to_string()];
                table.row(start.into_iter().chain(figures));
            }
        }
    }
    table
}
