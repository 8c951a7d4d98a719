//! Runs one computation on one runtime, on a virtual machine, and prints what it was like.
//!
//! The laboratory's `simulate` runs this once for each measurement: statics of the runtimes live as
//! long as the process.

mod adversaries;
mod computation;
mod machines;
mod neighbours;
mod runtimes;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use manycore::machine::Site;
use serde::Serialize;

use computation::Computation;
use neighbours::{Done, Neighbour, mean_within};
use runtimes::{Measured, Runtime};

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

/// Runs a computation on a virtual multiprocessor
#[derive(Debug, Parser)]
struct Options {
    /// What is computed: tree:LEAVES:NS, knary:HEIGHT:DEGREE:SERIAL:NS (Hood's benchmark),
    /// scatter:PROCESSES:ROUNDS:NS (Nornir's network, on classic- and nornir-), loop:ITEMS:NS,
    /// rounds:ROUNDS:SERIAL:CHUNKS:NS, producer:TASKS:NS, storm:BURSTS:TASKS:NS:PAUSE,
    /// callers:THREADS:CALLS:NS, idle:NS
    computation: Computation,
    /// What computes it: locksley, rayon (peers/build makes a program with it), static, serial, or
    /// a name that begins with classic- or nornir-
    #[arg(long, default_value = "locksley")]
    runtime: Runtime,
    /// How many processors the machine has
    #[arg(long, default_value_t = 16)]
    processors: usize,
    /// How many workers the runtime has [default: as many as processors]
    #[arg(long)]
    workers: Option<usize>,
    /// The costs of the machine's caches and its shape: guest, ice-lake, milan, graviton
    #[arg(long, default_value = "ice-lake")]
    machine: machines::Model,
    /// Another cost than that machine's and kernel's: NAME=NANOSECONDS, by the name of a field of
    /// manycore's CacheCosts, SystemCosts or KernelCosts; may be given several times
    #[arg(long = "cost", value_parser = cost)]
    costs: Vec<(String, u64)>,
    /// The kernel: linux-6.18, linux-6.12-late, linux-6.6, linux-5, linux-2.6, linux-2.6-compat,
    /// round-robin
    #[arg(long, default_value = "linux-6.18")]
    kernel: machines::KernelName,
    /// Another program: loops:THREADS, interactive:PAUSE:WORK, sleeper:WORK:PAUSE,
    /// team:THREADS:NS, RUNTIME[@WORKERS]=COMPUTATION; in nanoseconds; may be given several times
    #[arg(long = "neighbour")]
    neighbours: Vec<Neighbour>,
    /// What takes processors away: benign:COUNT:QUANTUM, oblivious:COUNT:QUANTUM,
    /// adaptive:COUNT:QUANTUM (which obeys yields), steal:PERIOD:AWAY[:PROCESSORS] (only the first
    /// ones); in nanoseconds
    #[arg(long)]
    adversary: Option<adversaries::Adversary>,
    /// Repeat the computation for at least so many milliseconds of virtual time
    #[arg(long, value_name = "MS", default_value_t = 0)]
    repeat: u64,
    /// Processors' worth of time that the control group allows, in thousandths
    #[arg(long)]
    quota: Option<u64>,
    /// What all that is random follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many milliseconds of virtual time
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    limit_ms: u64,
    /// List the places in the source whose accesses moved the hottest lines
    #[arg(long)]
    sites: bool,
}

/// What is printed, as one line of JSON.
#[derive(Debug, Serialize)]
struct Line {
    /// Virtual seconds of a computation, the mean of all, without the start of the workers.
    seconds: f64,
    /// Seconds of processor time that the computation's own work takes.
    work_seconds: f64,
    /// What the program's threads have run, in seconds, over the whole run.
    run_seconds: f64,
    /// What they have waited for a processor.
    delay_seconds: f64,
    virtual_seconds: f64,
    host_seconds: f64,
    hash: String,
    events: u64,
    transfers: u64,
    invalidations: u64,
    /// What processors have waited for cache lines.
    waited_seconds: f64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    migrations: u64,
    /// Of the runtime: steals, sleeps, and what else it counts.
    counters: std::collections::BTreeMap<&'static str, f64>,
    /// What the other programs count. Of a runtime: the mean time of its computations, in
    /// nanoseconds, of those that began and ended during the measured ones.
    neighbours: Vec<(String, u64)>,
    hottest: Vec<Hot>,
    /// Of all lines.
    sites: Vec<(String, u32)>,
}

#[derive(Debug, Serialize)]
struct Hot {
    transfers: u32,
    waited_seconds: f64,
    sites: Vec<(String, u32)>,
}

/// A cost by name.
fn cost(text: &str) -> Result<(String, u64), String> {
    let (name, nanos) = text.split_once('=').ok_or("it is not of the form NAME=NANOSECONDS")?;
    let nanos = nanos.parse().map_err(|error| format!("{nanos}: {error}"))?;
    Ok((name.to_owned(), nanos))
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(line) => {
            println!("{}", serde_json::to_string(&line).expect("numbers and text"));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<Line, String> {
    let workers = options.workers.unwrap_or(options.processors);
    if options.processors == 0 {
        return Err("a machine needs a processor".to_owned());
    }
    if workers == 0 {
        return Err("a runtime needs a worker".to_owned());
    }
    let machine = options.machine.builder(options.processors)?;
    let mut machine = machine
        .kernel(options.kernel.config())
        .seed(options.seed)
        .time_limit(Duration::from_millis(options.limit_ms))
        .sites(options.sites);
    for (name, nanos) in &options.costs {
        machine = machine.cost(name, *nanos).map_err(|error| error.to_string())?;
    }
    if let Some(quota) = options.quota {
        machine = machine.bandwidth(manycore::kernel::Bandwidth::of_processors(quota));
    }
    if let Some(adversary) = options.adversary {
        machine = machine.hypervisor(adversary.hypervisor(options.processors, options.seed));
    }
    let done = options.neighbours.iter().map(|_| Done::default()).collect::<Vec<_>>();
    for (neighbour, done) in options.neighbours.iter().zip(&done) {
        machine = machine.program(neighbour.program(options.processors, done));
    }
    let (runtime, computation) = (options.runtime.clone(), options.computation);
    let least = options.repeat.saturating_mul(1_000_000);
    let outcome = machine
        .try_run(move || runtime.measure(workers, computation, least))
        .map_err(|error| error.to_string())?;
    let Measured { time, stretch, counters } = outcome.value?;
    let of = outcome.statistics;
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let program = &of.programs[0];
    let named = |sites: &[(Site, u32)], count: usize| {
        sites.iter().take(count).map(|(site, count)| (short(site), *count)).collect()
    };
    let sites = |index: usize| of.sites.get(index).map_or(Vec::new(), |sites| named(sites, 4));
    let others = of.programs[1..].iter().zip(&options.neighbours).zip(&done);
    let others = others.map(|((program, neighbour), done)| {
        let count = match neighbour {
            Neighbour::Runs(..) => mean_within(stretch, &done.borrow()),
            _ => program.count,
        };
        (program.name.clone(), count)
    });
    let hot = |(index, line): (usize, &manycore::coherence::HotLine)| Hot {
        transfers: line.transfers,
        waited_seconds: seconds(line.waited),
        sites: sites(index),
    };
    Ok(Line {
        seconds: seconds(time),
        work_seconds: seconds(computation.work()),
        run_seconds: seconds(program.run),
        delay_seconds: seconds(program.delay),
        virtual_seconds: seconds(of.time),
        host_seconds: of.host.as_secs_f64(),
        hash: format!("{:016x}", of.hash),
        events: of.events,
        transfers: of.caches.misses(),
        invalidations: of.caches.invalidations,
        waited_seconds: seconds(of.caches.waited),
        voluntary_switches: program.voluntary_switches,
        involuntary_switches: program.involuntary_switches,
        migrations: program.migrations,
        counters,
        neighbours: others.collect(),
        hottest: of.hottest.iter().enumerate().take(8).map(hot).collect(),
        sites: named(&of.all_sites, 12),
    })
}

/// A place in the source, without the path to the repository, or of a peer, to its package.
fn short(site: Site) -> String {
    let file = site.file();
    let start = ["crates/", "lab/", "src/"].iter().find_map(|part| file.find(part));
    let file = file.split_once("vendor/").map_or(&file[start.unwrap_or(0)..], |(_, peer)| peer);
    format!("{file}:{}", site.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runtime: &str, computation: &str) -> Result<Line, String> {
        on(runtime, &[computation, "--processors", "4"])
    }

    fn on(runtime: &str, words: &[&str]) -> Result<Line, String> {
        run(&Options::parse_from(["simulator", "--runtime", runtime].iter().chain(words)))
    }

    #[test]
    fn hoods_tree_runs_under_each_adversary() {
        // 40 nodes of 100 µs on two of eight processors.
        let tree = ["knary:4:3:1:100000", "--processors", "8", "--limit-ms", "150", "--adversary"];
        for adversary in ["benign:2:100000", "oblivious:2:100000", "adaptive:2:100000"] {
            let line = on("classic-abp", &[&tree[..], &[adversary]].concat()).unwrap();
            assert!((line.work_seconds - 4e-3).abs() < 1e-12);
            assert!(line.seconds >= 2e-3 * 0.9, "{adversary}: {}", line.seconds);
        }
        // Thieves that never yield keep their processors from the one that has the work.
        let starved = on("classic-naive", &[&tree[..], &["adaptive:2:100000"]].concat());
        assert!(starved.map(|line| line.seconds).unwrap_err().contains("has not ended"));
    }

    #[test]
    fn two_programs_share_the_processors() {
        let words = ["tree:64:100000", "--processors", "4", "--repeat", "30"];
        let beside = ["--neighbour", "classic-bws-kernel=tree:64:100000"];
        let kernel = ["--kernel", "linux-2.6-compat"];
        let line = on("classic-bws-kernel", &[&words[..], &beside, &kernel].concat()).unwrap();
        // Alone, each would take 1.6 ms.
        let other = line.neighbours[0].1 as f64 / 1e9;
        assert!(line.seconds > 2e-3 && other > 2e-3, "{} and {other}", line.seconds);
        assert!(line.seconds + other > 5e-3, "{} and {other}", line.seconds);
    }

    #[test]
    fn lassis_queues_run_on_two_caches() {
        for queues in ["workers", "places", "queue", "spinning", "array"] {
            let words = ["tree:256:20000", "--processors", "16", "--machine", "milan"];
            let line = on(&format!("lassi-{queues}"), &words).unwrap();
            assert!((0.32e-3..1e-3).contains(&line.seconds), "{queues}: {}", line.seconds);
        }
    }

    #[test]
    fn nornirs_network_runs_on_its_schedulers_only() {
        let network = "scatter:6:5:100000";
        for runtime in ["nornir-last", "nornir-cur"] {
            let line = of(runtime, network).unwrap();
            assert!((line.work_seconds - 3e-3).abs() < 1e-12);
            // Two of six messages are one after the other on one of four processors.
            assert!((1e-3..3e-3).contains(&line.seconds), "{runtime}: {}", line.seconds);
        }
        let error = of("static", network).map(|line| line.seconds).unwrap_err();
        assert!(error.contains("no channels"), "{error}");
    }
}
