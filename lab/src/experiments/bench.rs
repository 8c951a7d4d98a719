//! The cost of frequent operations beside their fastest peers: one table, losses first. All but
//! calls are measured by the code of other experiments.

mod call;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use super::channels::Channels;
use super::forkjoin::local::Subject;
use super::rayon::Rayon;
use crate::experiment::prelude::*;

/// The metric of all rows: the time of an operation.
const NS: &str = "ns";
const GO: &str = "go";
/// The duration of a measurement of the experiment `rayon`.
const BRIEFLY: Duration = Duration::from_millis(100);

/// A row: its name, experiment and subject, number of workers, and variant of Locksley.
type Row = (&'static str, &'static str, usize, &'static str);

const ROWS: [Row; 23] = [
    ("fork by Worker::join", "forkjoin fib 30", 1, "locksley"),
    ("fork by join", "forkjoin fib 30", 1, "locksley-join"),
    ("fork by Worker::join, P = 2", "forkjoin fib 30", 2, "locksley"),
    ("fork by rayon::join", "rayon joins 27, alone", 1, "locksley"),
    ("fork by rayon::join, P = 2", "rayon joins 27, alone", 2, "locksley"),
    ("tree sum, a fork", "forkjoin tree 20", 1, "locksley"),
    ("tree sum, a fork, P = 2", "forkjoin tree 20", 2, "locksley"),
    ("par_iter of 256 items, P = 2", "rayon short-loops 100, alone", 2, "locksley"),
    ("par_bridge, an item, P = 2", "rayon bridge 200000, alone", 2, "locksley"),
    ("task of a scope, P = 2", "rayon spawns 1000, alone", 2, "locksley"),
    ("tsp, P = 2", "rayon tsp 13, alone", 2, "locksley"),
    ("tsp, P = 8", "rayon tsp 13, alone", 8, "locksley"),
    ("call into an idle pool, P = 2", "bench call 100", 2, "locksley"),
    ("stream, a message", "channels stream 500000", 1, "locksley"),
    ("stream, a message, P = 2", "channels stream 500000", 2, "locksley"),
    ("ring, a hop", "channels ring 1000x100", 1, "locksley"),
    ("ring, a hop, P = 2", "channels ring 1000x100", 2, "locksley"),
    ("one feeds 100, P = 2", "channels fan-out 2000", 2, "locksley"),
    ("one feeds 100, WS-CUR, P = 2", "channels fan-out 2000", 2, "locksley-cur"),
    ("100 feed one, P = 2", "channels fan-in 2000", 2, "locksley"),
    ("100 feed one, WS-CUR, P = 2", "channels fan-in 2000", 2, "locksley-cur"),
    ("ping-pong, a round trip", "channels ping-pong 50000", 1, "locksley"),
    ("ping-pong, a round trip, P = 2", "channels ping-pong 20000", 2, "locksley"),
];

/// The peers in each experiment.
const PEERS: [(&str, &[&str]); 4] = [
    ("forkjoin", &["rayon", "chili"]),
    ("rayon", &["rayon"]),
    ("bench", &["rayon", "futex"]),
    ("channels", &["tokio", GO]),
];

/// `locksley bench`
#[derive(Debug, Args)]
pub struct Bench {
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin", value_parser = folder_of_peers)]
    peers: PathBuf,
}

impl Experiment for Bench {
    const NAME: &'static str = "bench";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let repeats = course.repeats(if course.quick { 15 } else { 51 })?;
        let mut plan = Plan::of(course, if course.quick { 52.0 } else { 600.0 }, 20.0);
        Rayon::find_programs()?;
        let version = env!("CARGO_PKG_VERSION");
        plan.compare("locksley", version, "work stealing for machines that are shared");
        plan.compare("rayon", env!("LAB_RAYON"), "on its own core");
        plan.compare("chili", env!("LAB_CHILI"), "most joins only call, and share at a heartbeat");
        plan.compare("futex", version, "a round trip between two threads that park");
        plan.compare("tokio", env!("LAB_TOKIO"), "its scheduler for several threads");
        let program = self.peers.join("channels-go");
        plan.compare_peer(GO, &program, "goroutines and Go's channels", false)?;
        for (_, subject, workers, ours) in ROWS {
            let here = |peer: &&str| !plan.left_out.contains_key(*peer) && has(subject, peer);
            let peers: Vec<&str> = peers(subject).iter().copied().filter(here).collect();
            for runtime in [ours].into_iter().chain(peers) {
                plan.add_once(subject, runtime, workers, repeats);
            }
        }
        plan.quick_subset("fewer repetitions");
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, repeat: usize) -> Outcome<Readings> {
        let (experiment, subject) = parts(&cell.subject);
        let its = Cell { subject: subject.to_owned(), ..cell.clone() };
        let readings = match experiment {
            "rayon" => Rayon::briefly(BRIEFLY).measure(plan, &its, repeat),
            "channels" => Channels::beside(&self.peers).measure(plan, &its, repeat),
            _ => child::once(experiment, plan, &its),
        };
        let ns = nanoseconds(&cell.subject, &readings?);
        let ns = ns.ok_or_else(|| Fault::Missing("it measured something else".to_owned()))?;
        Ok(named([(NS, ns)]))
    }

    fn once(cell: &Cell, _seed: u64) -> Outcome<Readings> {
        let calls = cell.subject.strip_prefix("call ").and_then(|calls| calls.parse().ok());
        let calls = calls.filter(|calls| (1..=1_000_000).contains(calls));
        let calls = calls.ok_or_else(|| Fault::input("bench measures up to 10^6 calls"))?;
        Ok(named([("seconds", call::measure(&cell.runtime, cell.workers, calls)?)]))
    }

    fn report(record: &Record) -> Report {
        let mut rows: Vec<_> = ROWS.iter().filter_map(|row| found(record, row)).collect();
        rows.sort_by(|(a, _), (b, _)| b.figure.total_cmp(&a.figure));
        let columns = ["", "Locksley", "fastest peer", "", "ratio", "95 %", ""];
        let mut table =
            Table::new("time of an operation in ns, and over that of the peer", columns);
        let behind = rows.iter().filter(|(ratio, _)| ratio.low > 1.0).count();
        let headline = format!("Of {} operations {behind} are behind their peer", rows.len());
        rows.into_iter().for_each(|(_, cells)| table.row(cells));
        let section = Section::new("All", "Losses come first.", [table]);
        let method = include_str!("bench/method.txt");
        Report::new("what frequent operations cost", headline, vec![section], method)
    }
}

/// The first word and the rest: an experiment and its subject, or a kind and its size.
fn parts(subject: &str) -> (&str, &str) {
    subject.split_once(' ').unwrap_or((subject, ""))
}

fn peers(subject: &str) -> &'static [&'static str] {
    PEERS.iter().find(|(experiment, _)| *experiment == parts(subject).0).map_or(&[], |it| it.1)
}

/// True if `peer` implements `subject`. Go's program has no ping-pong by semaphores.
fn has(subject: &str, peer: &str) -> bool {
    peer != GO || !subject.contains("ping-pong")
}

/// The time of one operation.
fn nanoseconds(subject: &str, readings: &Readings) -> Option<f64> {
    let (_, subject) = parts(subject);
    let (kind, size) = parts(subject.split(',').next()?);
    let forks = |subject: &str| Some(Subject::find(subject).ok()?.forks() as f64);
    let operations = match kind {
        "fib" | "tree" => forks(subject)?,
        "joins" => forks(&format!("fib {size}"))?,
        "call" | "short-loops" | "bridge" | "spawns" => size.parse().ok()?,
        _ => 1.0,
    };
    let scales = [("ns", 1.0), ("ms", 1e6), ("seconds", 1e9)];
    let found = scales.iter().find_map(|(metric, scale)| Some(readings.get(*metric)? * scale));
    Some(found? / operations)
}

/// The ratio of a row and its cells. `None` if Locksley or all peers were not measured.
fn found(
    record: &Record,
    &(about, subject, workers, ours): &Row,
) -> Option<(Estimate, [String; 7])> {
    let median = |runtime| record.median(subject, runtime, workers, NS);
    let all = peers(subject).iter().filter_map(|peer| Some((*peer, median(peer)?)));
    let (peer, theirs) = all.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let ratio = Estimate::of_median(record.ratios(subject, [ours, peer], workers, NS))?;
    let verdict = match Verdict::of(ratio, 1.0) {
        Verdict::Met => "ahead",
        Verdict::Missed => "behind",
        Verdict::Undecided => "even",
    };
    let [ours, theirs, figure] = [median(ours)?, theirs, ratio.figure].map(number);
    let [about, peer, verdict] = [about, peer, verdict].map(str::to_owned);
    Some((ratio, [about, ours, theirs, peer, figure, interval(&ratio), verdict]))
}
