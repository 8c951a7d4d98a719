//! What a fork costs that is not stolen: the recursions of [`local`], beside those of other
//! runtimes' programs.

mod costs;
pub mod local;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::experiment::child::command_of_peer;
use crate::experiment::prelude::*;
use costs::Input;
use local::{LOCAL, Subject};

/// The code of the forking versions with two calls for a fork, which the compiler may not change.
const SERIAL: &str = scaling::SERIAL;
/// The recursion as it is written without forks in mind: Ts.
const PLAIN: &str = "serial-plain";

/// The programs of other runtimes, which `peers/build` makes.
const PEERS: [&str; 3] = ["onetbb", "libgomp", "libomp"];
/// Instructions are counted for two sizes of fib: what is not a fork is in both.
const COUNTED: [u32; 2] = [22, 27];
const INSTRUCTIONS: &str = "instructions";
/// Valgrind runs a program some fifty times slower.
const COUNTING: Duration = Duration::from_secs(120);

/// `locksley forkjoin`
#[derive(Debug, Args)]
pub struct Forkjoin {
    /// Only these runtimes [default: all that are there]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin", value_parser = folder_of_peers)]
    peers: PathBuf,
    /// Compute fib(N); below 30, times are too short for figures [default: 32, or 30 if quick]
    #[arg(long, value_name = "N")]
    fib: Option<u32>,
    /// Sum up a tree with so many levels [default: 24, or 20 if quick]
    #[arg(long, value_name = "LEVELS")]
    tree: Option<u32>,
    /// Count instructions also in a quick run; this takes valgrind, and half a minute
    #[arg(long)]
    instructions: bool,
}

impl Experiment for Forkjoin {
    const NAME: &'static str = "forkjoin";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(if quick { 7 } else { 11 })?;
        let mut plan =
            Plan::of(course, if quick { 50.0 } else { 3000.0 }, if quick { 5.0 } else { 60.0 });
        let all: Vec<&str> = LOCAL.iter().map(|local| local.0).chain(PEERS).collect();
        let mut wanted = chosen("runtime", &self.runtimes, &all, &all)?;
        wanted.extend([SERIAL, PLAIN]);
        for (name, version, about) in LOCAL.into_iter().filter(|local| wanted.contains(&local.0)) {
            plan.compare(name, version, about);
        }
        for name in PEERS.into_iter().filter(|name| wanted.contains(name)) {
            let (program, is_required) = (self.peers.join(name), !self.runtimes.is_empty());
            plan.compare_peer(name, &program, "a program of peers/", is_required)?;
        }
        plan.quick_subset("smaller computations, and no instruction counts by default");
        let mut is_counted = self.instructions || !quick;
        if is_counted {
            is_counted = child::run(Command::new("valgrind").arg("--version"), COUNTING).is_ok();
            if !is_counted {
                let note = "No instructions are counted: valgrind is not installed";
                plan.notes.push(note.to_owned());
            }
        }
        let names: Vec<String> = plan.runtimes.iter().map(|it| it.name.clone()).collect();
        let mut add = |subject: &str, workers, repeats| {
            let is_parallel = workers > 1;
            for name in names.iter().filter(|name| !is_parallel || has_forks(name)) {
                plan.add(subject, name, workers, repeats);
            }
        };
        let numbers = numbers(Machine::here().processors);
        let fib = self.fib.unwrap_or(if quick { 30 } else { 32 });
        let tree = self.tree.unwrap_or(if quick { 20 } else { 24 });
        for subject in [format!("fib {fib}"), format!("tree {tree}")] {
            Subject::find(&subject)?;
            numbers.iter().for_each(|&workers| add(&subject, workers, repeats));
        }
        for n in COUNTED.into_iter().filter(|_| is_counted) {
            add(&format!("{INSTRUCTIONS} {n}"), 1, 1);
        }
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        if let Some(n) = cell.subject.strip_prefix(INSTRUCTIONS) {
            let fib = Cell { subject: format!("fib{n}"), ..cell.clone() };
            let number = instructions(&self.command(&fib, plan.seed)?)?;
            return Ok(named([(INSTRUCTIONS, number)]));
        }
        if !PEERS.contains(&cell.runtime.as_str()) {
            return child::once(Self::NAME, plan, cell);
        }
        let line = child::finds(&mut self.command(cell, plan.seed)?, plan.limit())?;
        checked(&line, Subject::find(&cell.subject)?, plan.seed)
    }

    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        local::measure(&cell.runtime, Subject::find(&cell.subject)?, cell.workers, seed)
    }

    fn report(record: &Record) -> Report {
        let inputs = record.groups(SECONDS).into_iter().map(|it| it.0).sorted_unstable().dedup();
        let inputs = inputs.filter(|subject| Subject::find(subject).is_ok());
        let inputs: Vec<Input<'_>> = inputs.map(|subject| Input { record, subject }).collect();
        let costs = Section::new(
            "The cost of a fork that is not stolen",
            "With one worker: (T1 - Ts)/forks. Ts is the plain recursion, which compilers \
             turn into a loop in part. If its longest time is far above the shortest, the \
             machine was not quiet. 'Over calls' is relative to the same code with two \
             calls for a fork, which the compiler may not change.",
            inputs.iter().map(Input::table),
        );
        let costs = costs.with_charts(inputs.iter().map(Input::chart));
        let subjects = inputs.iter().map(|input| input.subject).collect_vec();
        let about = "The charts have Ts/TP, relative to the plain recursion. The tasks do next to \
                     nothing else than fork.";
        let chart = |input: &Input<'_>| {
            let speedup = |runtime: &str, workers| input.speedup(runtime, workers);
            scaling::chart(record, input.subject, "Ts/TP", speedup)
        };
        let scales = scaling::section(record, "Several workers", about, &subjects);
        let scales = scales.with_charts(inputs.iter().map(chart));
        let names = ["locksley", "chili", "rayon", "onetbb", "libgomp", "libomp"];
        let cost =
            |name| Some(format!("{name} {:.1}", inputs.first()?.nanos(name, PLAIN, median)?));
        let headline = match names.into_iter().filter_map(cost).join(", ") {
            costs if costs.is_empty() => "What a fork costs".to_owned(),
            costs => format!("A fork that is not stolen, in nanoseconds: {costs}"),
        };
        Report::new(Self::NAME, headline, vec![costs, scales], include_str!("forkjoin/method.txt"))
    }
}

impl Forkjoin {
    /// The command that measures a cell once: a peer's program, or this one.
    fn command(&self, cell: &Cell, seed: u64) -> Outcome<Command> {
        if !PEERS.contains(&cell.runtime.as_str()) {
            return child::command(Self::NAME, cell, seed);
        }
        Ok(command_of_peer(&self.peers.join(&cell.runtime), cell, seed))
    }
}

fn has_forks(runtime: &str) -> bool {
    ![SERIAL, PLAIN].contains(&runtime)
}

/// One, two, one for each processor, and twice as many.
fn numbers(processors: usize) -> Vec<usize> {
    numbers_of_workers([1, 2, processors, 2 * processors])
}

/// What a peer's program prints: see `peers/README.md`.
#[derive(Deserialize)]
struct Line {
    seconds: f64,
    answer: u64,
}

/// The readings of a peer's line, if its answer is right.
fn checked(line: &Line, subject: Subject, seed: u64) -> Outcome<Readings> {
    right(line.answer, subject.answer(seed))?;
    Ok(named([(SECONDS, line.seconds)]))
}

/// The instructions that callgrind counts of a process.
fn instructions(of: &Command) -> Outcome<f64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(of.get_program()).args(of.get_args());
    let [_, err] = child::run(&mut command, COUNTING)?;
    collected(&err).ok_or_else(|| Fault::Missing("valgrind did not say how many".to_owned()))
}

/// The number in the line `==PID== Collected : NUMBER`.
fn collected(report: &str) -> Option<f64> {
    let line = report.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
