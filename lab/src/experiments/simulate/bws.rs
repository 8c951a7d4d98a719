//! Pairs of programs as in BWS's study (Ding, Wang, Gibbons and Zhang, "BWS: Balanced Work Stealing
//! for Time-Sharing Multicores", 2012, section 5): on 16 and 32 processors, with the directed yield
//! of its kernel and without.

use super::program::OTHER;
use super::study::{Study, report_of};
use super::subject::{BESIDE, FOR, Subject};
use crate::experiment::prelude::*;
use crate::experiments::corun::metrics::{slowdown, throughput, unfairness};

pub(super) const STUDY: Study = Study { name: "bws", runtimes: &RUNTIMES, add_cells, report };

const ABP: &str = "classic-abp";
const BWS: &str = "classic-bws-kernel";
const PLAIN: &str = "classic-bws";
const NAIVE: &str = "classic-naive";
const RUNTIMES: [(&str, &str); 6] = [
    (ABP, "Algorithm 1, with which the study compares"),
    (BWS, "Algorithm 2, with the system calls of the study's kernel"),
    (PLAIN, "Algorithm 2 with a plain yield in the place of the directed one"),
    (NAIVE, "thieves that never yield"),
    ("classic-busy-wakes", "downgraded BWS: busy workers wake sleepers (section 5.5)"),
    ("classic-global", "WSGI: global information under a lock (section 5.5)"),
];
const PROCESSORS: [usize; 2] = [16, 32];
/// Side by side; the host takes long for thieves that never yield, so they have fewer processors.
const SIDE_BY_SIDE: [(usize, &str); 6] =
    [(16, ABP), (16, BWS), (16, NAIVE), (32, ABP), (32, BWS), (32, PLAIN)];

/// Stand-ins for the study's programs, and their groups. In the study, speedups on 32 processors
/// are above 20 in the first group, and below 16 in the second; here MI has 18 with ABP.
const PROGRAMS: [(&str, &str, usize); 5] = [
    ("bfs", "rounds:20:10000:4096:5000", 1),
    ("ep", "tree:4096:100000", 1),
    ("cg", "rounds:200:20000:64:20000", 2),
    ("clip", "rounds:5:0:14:5000000", 2),
    ("mi", "rounds:100:100000:256:20000", 2),
];
/// How long programs compute alone and side by side at least, in milliseconds.
const ALONE_MS: u64 = 40;
const TOGETHER_MS: u64 = 250;

type Program = (&'static str, &'static str, usize);

fn pairs() -> impl Iterator<Item = (Program, Program)> {
    PROGRAMS.into_iter().tuple_combinations()
}

fn alone(of: Program) -> String {
    format!("{} {FOR} {ALONE_MS}", of.1)
}

fn beside(first: Program, second: Program) -> String {
    format!("{} {FOR} {TOGETHER_MS} {BESIDE} ={}", first.1, second.1)
}

fn add_cells(plan: &mut Plan, repeats: usize) {
    for ((name, _), workers) in RUNTIMES.into_iter().cartesian_product(PROCESSORS) {
        PROGRAMS.iter().for_each(|it| plan.add(&alone(*it), name, workers, repeats));
    }
    for (workers, name) in SIDE_BY_SIDE {
        let repeats = if name == NAIVE { 1 } else { repeats };
        pairs().for_each(|it| plan.add(&beside(it.0, it.1), name, workers, repeats));
    }
}

/// A pair side by side.
struct Pair {
    group: &'static str,
    slowdowns: [f64; 2],
    unfairness: f64,
    throughput: f64,
}

/// The figures of a pair, if its record has them.
fn pair(record: &Record, of: [Program; 2], runtime: &str, workers: usize) -> Option<Pair> {
    let rate =
        |it: Program, name: &str| Some(record.median(&alone(it), name, workers, SECONDS)?.recip());
    let subject = beside(of[0], of[1]);
    let both = [SECONDS, OTHER].map(|it| record.median(&subject, runtime, workers, it));
    let [first, second] = [both[0]?.recip(), both[1]?.recip()];
    let slowdowns = [
        100.0 * slowdown(rate(of[0], runtime)?, first),
        100.0 * slowdown(rate(of[1], runtime)?, second),
    ];
    let rates = [(first, rate(of[0], ABP)?), (second, rate(of[1], ABP)?)];
    let group = match of.map(|it| it.2) {
        [1, 1] => "1",
        [2, 2] => "2",
        _ => "across",
    };
    Some(Pair {
        group,
        slowdowns,
        unfairness: unfairness(&slowdowns),
        throughput: throughput(rates),
    })
}

fn report(record: &Record) -> Report {
    let model = record.simulated().unwrap_or("an unknown model");
    let headline = format!("Simulated ({model}): BWS's pairs on 16 and 32 processors");
    let sections = vec![side_by_side(record), programs(record)];
    report_of("BWS's study, simulated", headline, sections)
}

fn side_by_side(record: &Record) -> Section {
    let heads = ["pair", "P", "runtime", "slowdowns, %", "unfairness", "speedup"];
    let mut all = Table::new("each pair", heads);
    let heads = ["P", "runtime", "group", "pairs", "unfairness", "speedup"];
    let mut means = Table::new("averages over pairs", heads);
    for (workers, name) in SIDE_BY_SIDE {
        let mut found = Vec::new();
        for (first, second) in pairs() {
            let Some(pair) = pair(record, [first, second], name, workers) else { continue };
            all.row([
                format!("{}+{}", first.0, second.0),
                workers.to_string(),
                name.to_owned(),
                format!("{:.0} / {:.0}", pair.slowdowns[0], pair.slowdowns[1]),
                format!("{:.0}", pair.unfairness),
                format!("{:.2}", pair.throughput),
            ]);
            found.push(pair);
        }
        for group in ["all", "1", "2", "across"] {
            let its = found.iter().filter(|it| group == "all" || it.group == group).collect_vec();
            let of = |value: fn(&Pair) -> f64| mean(its.iter().map(|it| value(it)));
            let Some((unfairness, speedup)) = of(|it| it.unfairness).zip(of(|it| it.throughput))
            else {
                continue;
            };
            let names = [workers.to_string(), name.to_owned(), group.to_owned()];
            let figures = [its.len().to_string(), format!("{unfairness:.0}")];
            means.row(names.into_iter().chain(figures).chain([format!("{speedup:.2}")]));
        }
    }
    let about = "Slowdowns in percent are those of the two programs over the same scheduler alone; \
                 unfairness is their difference in points. The speedup is the sum of Tb/Tc, with \
                 Tb alone on ABP. Each program computes again and again; the mean is of \
                 computations that began and ended while the first program was measured. LOOP, MM \
                 and RayTracer have no stand-ins.";
    Section::new("Side by side", about, [means, all])
}

fn programs(record: &Record) -> Section {
    let heads = ["program", "group", "P", "runtime", "speedup", "time over BWS's"];
    let mut table = Table::new("programs alone: work / time", heads);
    for (workers, program) in PROCESSORS.into_iter().cartesian_product(PROGRAMS) {
        let (name, computation, group) = program;
        let time = |runtime| record.median(&alone(program), runtime, workers, SECONDS);
        let Ok(subject) = Subject::find(computation) else { continue };
        for (runtime, _) in RUNTIMES {
            let Some(seconds) = time(runtime) else { continue };
            let names = [name.to_owned(), group.to_string(), workers.to_string()];
            let speedup = format!("{:.2}", subject.work() / seconds);
            let over = time(BWS).map_or_else(String::new, |base| format!("{:.2}", seconds / base));
            table.row(names.into_iter().chain([runtime.to_owned(), speedup, over]));
        }
    }
    let about = "The stand-ins compute nothing: only their parallelism, and the length of their \
                 tasks, are those of a group.";
    Section::new("Alone", about, [table])
}
