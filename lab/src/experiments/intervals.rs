//! What order alone gains: applications as graphs of intervals, beside fork and join, where a phase
//! ends for all of its tasks at once; and what an interval costs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use locksley::Pool;
use locksley_intervals::{Handle, Root};
use serde::Deserialize;

use super::memory;
use crate::apps::{self, size};
use crate::experiment::child::command_of_peer;
use crate::experiment::prelude::*;
use crate::machine::available_memory;
use crate::runtimes;

/// The graph of intervals.
const INTERVALS: &str = "locksley-intervals";
/// The same graph at several places, for the application that names them.
const PLACES: &str = "locksley-intervals-places";
/// The same scheduler with fork and join.
const FORK_JOIN: &str = "locksley";
/// oneTBB's flow graph, which has one application.
const FLOW: &str = "onetbb-flow";
const OF_FLOW: &str = "heat";
const FLOW_PROGRAM: &str = "flow-onetbb";

const RUNTIMES: [&str; 6] =
    [INTERVALS, "locksley-intervals-oldest", PLACES, FORK_JOIN, "rayon", "static"];

/// The applications: full and quick sizes.
const APPS: [(&str, &str, &str); 6] = [
    ("heat", "1024x512x400", "1024x512x60"),
    ("heat", "256x512x1600", "256x512x240"),
    ("lu", "1024", "512"),
    ("msort", "4M", "1M"),
    ("sorters", "4194304x65536", "524288x512"),
    ("sorters", "4194304x65536-worst", "524288x512-worst"),
];

/// A chain of intervals that do nothing, for the time of one; a graph, for the memory of one.
const CHAIN: &str = "chain";
const GRAPH: &str = "graph";
/// Intervals of a root in a chain: their memory is in the cache.
const OF_A_ROOT: usize = 1000;
/// What an interval takes at the most, in bytes.
const BYTES: usize = 200;

/// `locksley intervals`
#[derive(Debug, Args)]
pub struct Intervals {
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin", value_parser = folder_of_peers)]
    peers: PathBuf,
    #[arg(skip)]
    latest: prepared::Latest,
}

impl Experiment for Intervals {
    const NAME: &'static str = "intervals";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 5 } else { 9 })?;
        let mut plan = Plan::of(course, if quick { 45.0 } else { 1500.0 }, 60.0);
        for name in RUNTIMES {
            plan.compare_runtime(runtimes::find(name)?);
        }
        plan.compare_peer(FLOW, &self.peers.join(FLOW_PROGRAM), "oneTBB's flow graph", false)?;
        let has_flow = !plan.left_out.contains_key(FLOW);
        plan.add(&format!("{CHAIN} 100000"), INTERVALS, 1, repeats);
        if has_flow {
            plan.add(&format!("{CHAIN} 100000"), FLOW, 1, repeats);
        }
        if memory::can_be_told() {
            let number = if quick { 300_000 } else { 1_000_000 };
            plan.add(&format!("{GRAPH} {number}"), INTERVALS, 1, repeats);
        }
        let processors = Machine::here().processors;
        let multiples: &[usize] = if quick { &[1, 4, 8] } else { &[1, 2, 4, 8] };
        let workers = multiples.iter().map(|times| times * processors).chain([1]);
        let workers = numbers_of_workers(workers);
        for (app, full, small) in APPS {
            let size = if quick { small } else { full };
            let subject = prepared::name(app, size);
            apps::problem(apps::find(app)?, size)?;
            plan.add(&subject, SERIAL, 1, repeats);
            for &workers in &workers {
                for name in RUNTIMES {
                    if runtimes::find(name)?.can_run(apps::find(app)?)
                        && has_places(app, size, name)
                    {
                        plan.add(&subject, name, workers, repeats);
                    }
                }
                if has_flow && app == OF_FLOW {
                    plan.add(&subject, FLOW, workers, repeats);
                }
            }
        }
        plan.quick_subset("smaller inputs, fewer numbers of workers");
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        let Cell { subject, runtime, workers, .. } = cell;
        let seconds = match runtime.as_str() {
            FLOW => {
                let program = self.peers.join(FLOW_PROGRAM);
                let mut command = command_of_peer(&program, cell, plan.seed);
                child::finds::<Line>(&mut command, plan.limit())?.seconds
            }
            _ if graph(subject).is_some() => return child::once(Self::NAME, plan, cell),
            name => {
                let crew = runtimes::find(name)?.start(*workers)?;
                self.latest.of(subject, plan.seed)?.seconds(&crew)?
            }
        };
        Ok(match graph(subject) {
            Some((_, number)) => named([("ns", seconds * 1e9 / number as f64)]),
            None => named([(SECONDS, seconds)]),
        })
    }

    fn once(cell: &Cell, _seed: u64) -> Outcome<Readings> {
        let (kind, number) = graph(&cell.subject)
            .ok_or_else(|| Fault::input(format!("'{}' is not a graph", cell.subject)))?;
        let at_a_time = if kind == CHAIN { number.min(OF_A_ROOT) } else { number };
        let (needed, available) = (size::product(&[at_a_time, BYTES]), available_memory());
        if needed > available {
            return Err(Fault::input(format!(
                "a graph of {number} intervals needs {} of memory, and {} are available",
                size::in_bytes(needed),
                size::in_bytes(available)
            )));
        }
        let pool = Pool::new(1).map_err(Fault::run)?;
        let (metric, all) = match kind {
            CHAIN => ("ns", pool.install(|_| nanoseconds(number))?),
            _ => ("bytes", pool.install(|_| bytes(number))?),
        };
        Ok(named([(metric, all / number as f64)]))
    }

    fn report(record: &Record) -> Report {
        let mut subjects: Vec<&str> =
            record.groups(SECONDS).into_iter().map(|(subject, _)| subject).collect();
        subjects.dedup();
        let gain = |subject: &str, runtime: &str, workers| {
            let ours = record.median(subject, INTERVALS, workers, SECONDS)?;
            let other = record.median(subject, FORK_JOIN, workers, SECONDS)?;
            (runtime == FORK_JOIN).then(|| number(other / ours))
        };
        let mut times = scaling::section(
            record,
            "Applications",
            "Speedup over the number of workers, each relative to its own time with one worker.",
            &subjects,
        );
        let title = "time of fork and join over that of the graph of intervals";
        times.tables.insert(0, scaling::table(record, title, &subjects, gain));
        let cost = |name, unit| {
            let (title, about) = ("An interval", "Graphs of intervals that do next to nothing.");
            let metric = Metric { name, unit, base: None };
            Section::of_metric(record, title, about, metric, |_, _| true)
        };
        let ns = cost("ns", "ns for an interval with two edges, from creation to end");
        let headline = match record.groups("ns").first() {
            Some((subject, workers)) => {
                let ns = record.median(subject, INTERVALS, *workers, "ns").unwrap_or(f64::NAN);
                format!("An interval with two edges takes {ns:.0} ns")
            }
            None => "Graphs of intervals beside fork and join".to_owned(),
        };
        let bytes = cost("bytes", "bytes for an interval in a large graph");
        let method = include_str!("intervals/method.txt");
        Report::new(Self::NAME, headline, vec![times, ns, bytes], method)
    }
}

/// What the flow graph's program prints.
#[derive(Deserialize)]
struct Line {
    seconds: f64,
}

/// Whether a runtime suits a subject: one application names places, and if these are bad ones,
/// nothing else is of interest.
fn has_places(app: &str, size: &str, runtime: &str) -> bool {
    if runtime == PLACES { app == "sorters" } else { !size.ends_with("-worst") }
}

/// The kind and the number of intervals of a graph that does nothing.
fn graph(subject: &str) -> Option<(&str, usize)> {
    let (kind, number) = subject.split_once(' ')?;
    let number = number.parse().ok().filter(|&number| number > 0)?;
    [CHAIN, GRAPH].contains(&kind).then_some((kind, number))
}

/// Runs a graph of so many intervals, each after the two before it, and calls `made` when all were
/// made.
fn run(number: usize, made: impl FnOnce() + Send) -> Outcome<()> {
    let ended = AtomicUsize::new(0);
    // No addition: edges let one run at a time, and it sees what the one before has stored.
    let one_more = || ended.store(ended.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let root = Root::new("root").run(|root| {
        let mut last: [Option<Handle<'_, ()>>; 2] = [None; 2];
        for _ in 0..number {
            let next = root.interval("next").after_all(last.into_iter().flatten());
            last = [last[1], Some(next.spawn(|_| one_more()))];
        }
        made();
    });
    root.map_err(Fault::run)?;
    let ended = ended.into_inner();
    match ended == number {
        true => Ok(()),
        false => Err(Fault::run(format!("{ended} intervals have ended instead of {number}"))),
    }
}

fn nanoseconds(number: usize) -> Outcome<f64> {
    run(OF_A_ROOT, || ())?;
    let start = Instant::now();
    for first in (0..number).step_by(OF_A_ROOT) {
        run(OF_A_ROOT.min(number - first), || ())?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e9)
}

fn bytes(number: usize) -> Outcome<f64> {
    let before = memory::resident()?;
    let mut after = Ok(before);
    run(number, || after = memory::resident())?;
    Ok(after?.saturating_sub(before) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(subject: &str) -> Outcome<Readings> {
        let (subject, runtime) = (subject.to_owned(), INTERVALS.to_owned());
        Intervals::once(&Cell { subject, runtime, workers: 1, repeats: 1 }, 0)
    }

    #[test]
    fn chains_take_time_and_graphs_take_memory() {
        assert!(once("chain 2500").unwrap()["ns"] > 0.0);
        if memory::can_be_told() {
            assert!(once("graph 1000").unwrap().contains_key("bytes"));
        }
        let Err(Fault::Input(why)) = once(&format!("graph {}", usize::MAX)) else {
            panic!("there is no memory for it")
        };
        assert!(why.contains("of memory") && why.lines().count() == 1, "{why}");
        for wrong in ["graph 0", "graph", "heat 9", "chain x"] {
            assert!(matches!(once(wrong), Err(Fault::Input(_))), "{wrong}");
        }
    }
}
