//! Figures 2 and 4 of Hood's study (Blumofe and Papadopoulos, "The Performance of Work Stealing in
//! Multiprogrammed Environments", 1998, sections 4 and 5): `knary` on eight processors with up to
//! 64 processes, and where adversaries grant eight of 64 processors, or 128 of 1,024.

use super::study::{Study, report_of};
use super::subject::{ON, Subject, UNDER, WITHIN};
use crate::experiment::prelude::*;
use crate::experiments::model::bound::{self, Fit, Point};

pub(super) const STUDY: Study = Study { name: "hood", runtimes: &RUNTIMES, add_cells, report };

const RUNTIMES: [(&str, &str); 5] = [
    ("classic-hood", "the study's work stealer: a thief yields, later at lowered priority"),
    ("classic-abp", "a thief yields before each attempt"),
    ("classic-naive", "the study's naive variant, whose thieves never yield"),
    ("classic-blocking", "its deques with blocking locks; thieves never yield"),
    ("classic-spinlock", "its deques with spinning locks; thieves never yield"),
];

/// The first ones, whose thieves yield.
const YIELDING: usize = 2;

/// Height, degree and serial children: parallelism from 11 to 780. Nodes take 100 µs.
const TREES: [&str; 5] = ["5:5:0", "6:5:1", "6:5:2", "7:4:0", "7:4:1"];
const LARGE_TREES: [&str; 4] = ["7:5:0", "8:4:0", "6:6:0", "6:6:1"];
const NODE: u64 = 100_000;
/// The processors of the study's machine; adversaries grant as many.
const GRANTED: usize = 8;
const PROCESSES: [usize; 4] = [8, 16, 32, 64];
const ADVERSARIES: [&str; 3] = ["benign", "oblivious", "adaptive"];
/// The warm-up, and at least seven times the time of the largest tree at linear speedup.
const LIMIT_MS: u64 = 600;
const MANY: usize = 1024;
const GRANTED_OF_MANY: usize = 128;
/// The study's second curve, a good lower bound of its points.
const CURVE: (f64, f64) = (1.1, 2.0);

fn under(adversary: &str, granted: usize) -> String {
    format!("{UNDER} {adversary}:{granted}:{NODE} {WITHIN} {LIMIT_MS}")
}

fn add_cells(plan: &mut Plan, repeats: usize) {
    plan.notes.push(format!(
        "Trees have 0.08 to 0.55 s of work, and 0.9 to 2.2 s for {MANY} processes; the study's \
         have 1.2 s and more. A run has {LIMIT_MS} ms of virtual time under an adversary."
    ));
    let names = RUNTIMES.map(|it| it.0);
    let tree = |shape: &str| format!("knary:{shape}:{NODE}");
    for tree in TREES.map(tree) {
        for name in names {
            // The host takes long for thieves that spin: they have one seed, and few processes.
            let yields = names[..YIELDING].contains(&name);
            let (most, repeats) = if yields { (4, repeats) } else { (2, 1) };
            for processes in &PROCESSES[..most] {
                plan.add(&format!("{tree} {ON} {GRANTED}"), name, *processes, repeats);
            }
            for adversary in ADVERSARIES.iter().filter(|_| names[..=YIELDING].contains(&name)) {
                plan.add(&format!("{tree} {}", under(adversary, GRANTED)), name, 64, repeats);
            }
        }
    }
    for (tree, adversary) in LARGE_TREES.map(tree).iter().cartesian_product(ADVERSARIES) {
        plan.add(&format!("{tree} {}", under(adversary, GRANTED_OF_MANY)), names[0], MANY, 1);
    }
}

/// What a record has of a cell.
struct Found<'a> {
    cell: &'a Cell,
    conditions: &'a str,
    /// `None` if no run has ended.
    point: Option<Point>,
    /// Whether a run was begun that has not ended.
    is_unfinished: bool,
}

fn found<'a>(record: &Record, cell: &'a Cell) -> Option<Found<'a>> {
    let subject = Subject::find(&cell.subject).ok()?;
    let (_, conditions) = cell.subject.split_once(' ')?;
    let granted = subject.granted(cell.workers) as f64;
    let point = |seconds: f64| Point {
        subject: subject.computation.clone(),
        beside: conditions.to_owned(),
        workers: cell.workers,
        processors: granted,
        normalized: cell.workers as f64 * subject.span() / subject.work(),
        utilization: subject.work() / (granted * seconds),
    };
    let seconds = record.median(&cell.subject, &cell.runtime, cell.workers, SECONDS);
    let is_unfinished = seconds.is_none() && record.missing.iter().any(|it| it.cell == *cell);
    Some(Found { cell, conditions, point: seconds.map(point), is_unfinished })
}

fn report(record: &Record) -> Report {
    let all = record.plan.cells.iter().filter_map(|cell| found(record, cell)).collect_vec();
    let model = record.simulated().unwrap_or("an unknown model");
    let ended = all.iter().filter(|it| it.point.is_some());
    let most = ended.map(|it| it.cell.workers).max().unwrap_or(0);
    let headline = format!("Simulated ({model}): Hood's benchmark with up to {most} processes");
    let sections = vec![constants(&all), utilization(&all)];
    report_of("Hood's study, simulated", headline, sections)
}

fn constants(all: &[Found<'_>]) -> Section {
    let heads = ["conditions", "runtime", "P"].into_iter().chain(Fit::HEADS);
    let heads = heads.chain(["under the curve", "unfinished"]);
    let mut table = Table::new("constants of T = c1·T1/PA + c∞·T∞·P/PA", heads);
    let conditions = all.iter().map(|it| it.conditions).unique();
    for (conditions, (name, _)) in conditions.cartesian_product(RUNTIMES) {
        let its = all.iter().filter(|it| it.conditions == conditions && it.cell.runtime == name);
        let its = its.filter(|it| it.point.is_some() || it.is_unfinished).collect_vec();
        let points = its.iter().filter_map(|it| it.point.clone()).collect_vec();
        if its.is_empty() {
            continue;
        }
        let processes = its.iter().map(|it| it.cell.workers).unique().join(", ");
        let is_under = |it: &&Point| it.utilization < bound::utilization(CURVE, it.normalized);
        let under = points.iter().filter(is_under).count();
        let fit = bound::fit(points.iter()).map_or_else(Default::default, |fit| fit.cells());
        let names = [conditions.to_owned(), name.to_owned(), processes];
        let unfinished = its.iter().filter(|it| it.is_unfinished).count();
        let counts = [under, unfinished].map(|count| count.to_string());
        table.row(names.into_iter().chain(fit).chain(counts));
    }
    let about = "By least squares, as `model` fits them, with 95 % intervals over trees. T1 and T∞ \
                 are those of the nodes alone. PA is the number of processors that are granted. \
                 The curve is the study's second one, with c1 = 1.1 and c∞ = 2. Unfinished are \
                 trees of which no run ended in time.";
    Section::new("Hood's model", about, [table])
}

fn utilization(all: &[Found<'_>]) -> Section {
    let heads = ["tree", "conditions", "runtime", "P", "P·T∞/T1", "utilization", "speedup"];
    let mut table = Table::new("utilization T1/(PA·T), and speedup T1/T", heads);
    for Found { cell, conditions, point, .. } in all {
        let Some(point) = point else { continue };
        let [runtime, processes] = [cell.runtime.clone(), cell.workers.to_string()];
        let [x, utilization] = [point.normalized, point.utilization].map(|it| format!("{it:.3}"));
        let speedup = format!("{:.2}", point.utilization * point.processors);
        let tree = point.subject.clone();
        table.row([tree, (*conditions).to_owned(), runtime, processes, x, utilization, speedup]);
    }
    let about = "knary:h:d:s:n: a tree of height h and degree d whose nodes compute for n ns and \
                 have s children in series, the rest in parallel. Medians over seeds.";
    Section::new("Utilization", about, [table])
}
