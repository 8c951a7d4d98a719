//! The papers' experiments at their own sizes.

use super::program::{FAILED, NEIGHBOURS, OTHER, STEALS};
use super::subject::{BESIDE, FOR, KNARY, Subject};
use crate::experiment::prelude::*;
use crate::experiments::corun::metrics::{slowdown, throughput, unfairness};
use crate::experiments::model::bound::{self, Fit, Point};

/// The parameter of the plan with the name of the study.
pub(super) const STUDY: &str = "study";

/// A paper whose machine is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Study {
    Hood,
    Bws,
    Nornir,
    Lassi,
}

/// Hood's trees, with nodes of 100 µs: parallelism from 5 to 780, and one more for 1,024 processes.
const TREES: [&str; 7] = ["5:5:0", "6:5:1", "6:5:2", "7:4:0", "7:4:1", "7:4:2", "12:2:0"];
const LARGE_TREES: [&str; 4] = ["7:5:0", "7:5:1", "8:4:0", "9:3:0"];
const NODE: u64 = 100_000;

const ABP: &str = "classic-abp";

/// Stand-ins for BWS's programs: their speedups on 32 processors are above 20 in the first group,
/// and below that in the second. LOOP is not among them: it is busy threads.
pub(super) const PROGRAMS: [(&str, &str, usize); 5] = [
    ("bfs", "rounds:20:10000:4096:5000", 1),
    ("ep", "tree:16384:100000", 1),
    ("cg", "rounds:200:20000:64:20000", 2),
    ("clip", "rounds:5:0:14:5000000", 2),
    ("mi", "rounds:100:100000:256:20000", 2),
];
const PAIRS: [(&str, &str); 9] = [
    ("bfs", "ep"),
    ("bfs", LOOP),
    ("cg", "mi"),
    ("cg", "clip"),
    ("cg", "ep"),
    ("clip", "ep"),
    ("mi", "ep"),
    ("mi", "bfs"),
    ("cg", LOOP),
];
const LOOP: &str = "loop";
/// How long programs compute alone and side by side, in milliseconds.
const ALONE: u64 = 100;
const TOGETHER: u64 = 400;

impl Study {
    pub(super) fn name(self) -> &'static str {
        ["hood", "bws", "nornir", "lassi"][self as usize]
    }

    pub(super) fn runtimes(self) -> &'static [&'static str] {
        match self {
            Study::Hood => {
                &["classic-hood", ABP, "classic-naive", "classic-blocking", "classic-spinlock"]
            }
            Study::Bws => &[
                ABP,
                "classic-bws",
                "classic-bws-kernel",
                "classic-bws-kernel-32",
                "classic-bws-kernel-256",
                "classic-bws-kernel-4096",
                "classic-delayed",
                "classic-selective",
                "classic-busy-wakes",
                "classic-global",
                "classic-naive",
            ],
            Study::Nornir => &["nornir-last", "nornir-cur"],
            Study::Lassi => {
                &["classic-blocking-yields", "classic-places", "classic-hood", "classic-spinlock"]
            }
        }
    }

    pub(super) fn add_cells(self, plan: &mut Plan, repeats: usize) {
        let runtimes = self.runtimes();
        let mut add = |subject: &str, runtimes: &[&str], workers: &[usize]| {
            for (runtime, &workers) in runtimes.iter().cartesian_product(workers) {
                plan.add(subject, runtime, workers, repeats);
            }
        };
        match self {
            Study::Hood => {
                for tree in TREES.map(|tree| format!("knary:{tree}:{NODE}")) {
                    add(&tree, runtimes, &[1]);
                    add(&format!("{tree} on 8"), runtimes, &[8, 16, 32, 64]);
                    for adversary in ["benign", "oblivious", "adaptive"] {
                        let subject = format!("{tree} under {adversary}:8:{NODE} within 1");
                        add(&subject, &runtimes[..3], &[16, 64]);
                    }
                }
                for tree in LARGE_TREES.map(|tree| format!("knary:{tree}:{NODE}")) {
                    add(&tree, &runtimes[..2], &[1, 1024]);
                    let subject = format!("{tree} under benign:128:{NODE} within 1");
                    add(&subject, &runtimes[..2], &[1024]);
                }
            }
            Study::Bws => {
                for (_, computation, _) in PROGRAMS {
                    add(&format!("{computation} {FOR} {ALONE}"), runtimes, &[16, 32]);
                }
                for (pair, workers) in PAIRS.iter().cartesian_product([16, 32]) {
                    add(&beside(*pair, workers), runtimes, &[workers]);
                }
            }
            Study::Nornir => {
                for (n, d) in
                    [50, 250].into_iter().cartesian_product([1000, 10_000, 40_000, 100_000])
                {
                    let nanos = 1_000_000_000 / d;
                    let rounds = (2_000_000_000 / (n * nanos)).max(1);
                    add(&format!("scatter:{n}:{rounds}:{nanos}"), runtimes, &[8]);
                }
                for n in [8, 16, 32, 64, 128, 256] {
                    add(&format!("scatter:{n}:200:100000"), runtimes, &[8]);
                }
                for n in 16..=32 {
                    add(&format!("scatter:{n}:20:800000"), &runtimes[..1], &[8]);
                }
            }
            Study::Lassi => {
                for subject in ["tree:65536:1000", "tree:65536:10000", "rounds:200:0:64:10000"] {
                    add(subject, runtimes, &[8, 32]);
                }
            }
        }
    }
}

fn computation(name: &str) -> Option<(&'static str, usize)> {
    PROGRAMS.into_iter().find(|it| it.0 == name).map(|it| (it.1, it.2))
}

/// The subject of a pair, on so many processors.
fn beside((first, second): (&str, &str), workers: usize) -> String {
    let of = |name| computation(name).map_or("", |it| it.0);
    match second {
        LOOP => format!("{} {FOR} {TOGETHER} {BESIDE} {workers}", of(first)),
        _ => format!("{} {FOR} {TOGETHER} {BESIDE} ={}", of(first), of(second)),
    }
}

/// What is said of the record of a study.
pub(super) fn report(record: &Record) -> Option<Report> {
    let study = record.plan.parameters.get(STUDY)?;
    let model = record.simulated().unwrap_or("an unknown model");
    let headline = format!("Simulated ({model}): the study of {study}");
    let sections = match &**study {
        "bws" => vec![pairs(record)],
        "hood" => vec![constants(record), utilization(record)],
        _ => vec![utilization(record)],
    };
    let note = "Simulated, on a model that is not validated yet: no time was measured.".to_owned();
    let method = include_str!("method.txt");
    let report = Report::new("a paper's study, simulated", headline, sections, method);
    Some(Report { notes: vec![note], ..report })
}

/// T1/(PA·T); T1 with one worker where that is known, else the work itself.
fn of_cell(record: &Record, cell: &Cell) -> Option<(Subject, f64)> {
    let subject = Subject::find(&cell.subject).ok()?;
    let seconds = record.median(&cell.subject, &cell.runtime, cell.workers, SECONDS)?;
    let alone = record.median(&subject.alone().to_string(), &cell.runtime, 1, SECONDS);
    let work = alone.unwrap_or(subject.work());
    let granted = subject.granted(cell.workers) as f64;
    Some((subject, work / (granted * seconds)))
}

fn conditions(subject: &str) -> &str {
    subject.split_once(' ').map_or("alone", |it| it.1)
}

fn utilization(record: &Record) -> Section {
    let heads =
        ["", "conditions", "runtime", "P", "PA", "utilization", "speedup", "10³ attempts/s"];
    let mut table = Table::new("utilization T1/(PA·T), and speedup T1/T", heads);
    for cell in record.plan.cells.iter() {
        let Some((subject, utilization)) = of_cell(record, cell) else { continue };
        let granted = subject.granted(cell.workers);
        let of = |metric| record.median(&cell.subject, &cell.runtime, cell.workers, metric);
        let attempts = of(STEALS).zip(of(FAILED)).zip(of(SECONDS));
        let attempts =
            attempts.map(|((steals, failed), seconds)| (steals + failed) / seconds / 1e3);
        table.row([
            subject.computation.clone(),
            conditions(&cell.subject).to_owned(),
            cell.runtime.clone(),
            cell.workers.to_string(),
            granted.to_string(),
            format!("{utilization:.3}"),
            format!("{:.2}", utilization * granted as f64),
            known(attempts),
        ]);
    }
    let about = "PA is the number of processors that are granted.";
    Section::new("Utilization", about, [table])
}

/// Hood's constants, for each runtime under the same conditions.
fn constants(record: &Record) -> Section {
    let heads = ["conditions", "runtime", "P"].into_iter().chain(Fit::HEADS).chain(["unfinished"]);
    let mut table = Table::new("constants of T = c1·T1/PA + c∞·T∞·P/PA", heads);
    let cells = record.plan.cells.iter().filter(|it| it.workers > 1);
    let of = |cell: &Cell| {
        let most = if cell.workers > 64 { "1024" } else { "8 to 64" };
        (conditions(&cell.subject).to_owned(), cell.runtime.clone(), most)
    };
    for (name, cells) in &cells.sorted_by_key(|cell| of(cell)).chunk_by(|cell| of(cell)) {
        let cells = cells.collect_vec();
        let point = |cell: &&Cell| {
            let (subject, utilization) = of_cell(record, cell)?;
            let normalized = cell.workers as f64 * subject.span() / subject.work();
            (subject.kind == KNARY).then(|| Point {
                beside: String::new(),
                workers: cell.workers,
                processors: subject.granted(cell.workers) as f64,
                subject: subject.computation,
                normalized,
                utilization,
            })
        };
        let points = cells.iter().filter_map(point).collect_vec();
        let unfinished = cells.len() - points.len();
        let fit = bound::fit(points.iter()).map_or_else(Default::default, |fit| fit.cells());
        let names = [name.0, name.1, name.2.to_owned()];
        table.row(names.into_iter().chain(fit).chain([unfinished.to_string()]));
    }
    let about = "By least squares, as `model` fits them, with 95 % intervals over trees. T1 is \
                 measured with one worker; T∞ is that of the tree without the scheduler. Under \
                 adversaries, eight of P processors run in each quantum, or 128 of 1,024. Runs \
                 that did not end in a second of virtual time are unfinished.";
    Section::new("Hood's model", about, [table])
}

/// The pairs of BWS's study as `corun` has them.
fn pairs(record: &Record) -> Section {
    let heads = ["pair", "P", "runtime", "slowdowns, %", "unfairness", "speedup"];
    let mut all = Table::new("each pair", heads);
    let heads = ["P", "runtime", "pairs", "group", "unfairness", "speedup", "time alone"];
    let mut means = Table::new("averages over pairs", heads);
    for (workers, runtime) in [16, 32].into_iter().cartesian_product(record.runtimes()) {
        let alone = |name: &str, runtime: &str| {
            let (computation, _) = computation(name)?;
            record.median(&format!("{computation} {FOR} {ALONE}"), runtime, workers, SECONDS)
        };
        let mut found = Vec::new();
        for pair in PAIRS {
            let subject = beside(pair, workers);
            let of = |metric| record.median(&subject, runtime, workers, metric);
            // Rates: alone, beside the other, and alone on ABP.
            let rates = |name: &str, beside: Option<f64>| {
                let [alone, baseline] = [runtime, ABP].map(|it| Some(alone(name, it)?.recip()));
                Some((alone?, beside?.recip(), baseline?))
            };
            let first = rates(pair.0, of(SECONDS));
            let second = match pair.1 {
                LOOP => of(NEIGHBOURS).map(|had| (workers as f64, had, workers as f64)),
                name => rates(name, of(OTHER)),
            };
            let Some(both) = first.zip(second).map(|(first, second)| [first, second]) else {
                continue;
            };
            let slowdowns = both.map(|(alone, beside, _)| 100.0 * slowdown(alone, beside));
            let speedup = throughput(both.map(|(_, beside, baseline)| (beside, baseline)));
            let unfairness = unfairness(&slowdowns);
            let groups = [pair.0, pair.1].map(|it| computation(it).map_or(1, |it| it.1));
            let group = match groups {
                [1, 1] => "1",
                [2, 2] => "2",
                _ => "across",
            };
            found.push((group, unfairness, speedup));
            all.row([
                format!("{}+{}", pair.0, pair.1),
                workers.to_string(),
                runtime.to_owned(),
                format!("{:.0} / {:.0}", slowdowns[0], slowdowns[1]),
                format!("{unfairness:.0}"),
                format!("{speedup:.2}"),
            ]);
        }
        let ratio = |it: &(&str, _, _)| Some(alone(it.0, runtime)? / alone(it.0, ABP)?);
        let ratios = PROGRAMS.iter().filter_map(ratio).map(f64::ln).collect_vec();
        let ratio = mean(&ratios).map(f64::exp);
        for group in ["all", "1", "2", "across"] {
            let its = found.iter().filter(|it| group == "all" || it.0 == group).collect_vec();
            let mean = |of: fn(&(&str, f64, f64)) -> f64| mean(its.iter().map(|it| of(it)));
            let Some((unfairness, speedup)) = mean(|it| it.1).zip(mean(|it| it.2)) else {
                continue;
            };
            means.row([
                workers.to_string(),
                runtime.to_owned(),
                its.len().to_string(),
                group.to_owned(),
                format!("{unfairness:.0}"),
                format!("{speedup:.2}"),
                ratio.filter(|_| group == "all").map_or_else(String::new, |it| format!("{it:.2}")),
            ]);
        }
    }
    let about = "Stand-ins for the paper's programs, by scalability; `loop` is a busy thread for \
                 each processor, counted over the whole run. Slowdowns are those of the two \
                 programs over the same scheduler alone, unfairness their difference in points. \
                 The speedup is the sum of Tb/Tc, with Tb alone on ABP. Time alone is the \
                 geometric mean over ABP's.";
    Section::new("Side by side", about, [means, all])
}
