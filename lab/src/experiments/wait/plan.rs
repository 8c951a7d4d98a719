//! What is measured: the subjects, the runtimes, how often, and for how long at most.

use super::once::{self, Kind, LOCAL, Local, Subject};
use super::record::{Input, Plan, Runtime};
use crate::experiments::memory;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// The numbers of workers: tasks that wait for each other keep one busy, and a second one has to be told.
const WORKERS: [usize; 2] = [1, 2];

/// How many threads a task creates at once.
const THREADS: [u64; 3] = [10, 1000, 100_000];

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What the tasks' values follow from.
    pub seed: u64,
    /// Only these runtimes; all where none is named.
    pub runtimes: Vec<String>,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Instead of the usual numbers of tasks, round trips and threads in a measurement.
    pub tasks: Option<u64>,
}

/// The plan.
pub fn plan(choice: &Choice) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    Ok(Plan {
        experiment: "wait".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 7 } else { 11 }),
        budget_seconds: if quick { 48.0 } else { 1080.0 },
        limit_seconds: 60.0,
        inputs: inputs(choice)?,
        runtimes: runtimes(&choice.runtimes)?,
    })
}

fn runtimes(only: &[String]) -> Outcome<Vec<Runtime>> {
    for name in only {
        once::find(name)?;
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let runtime =
        |local: &Local| Runtime { name: local.name.to_owned(), version: local.version.to_owned() };
    Ok(LOCAL.iter().filter(|local| wanted(local.name)).map(runtime).collect())
}

fn inputs(choice: &Choice) -> Outcome<Vec<Input>> {
    let quick = choice.quick;
    // What one measurement consists of: some tenths of a second, or some hundredths.
    let number = |quick_one: u64, full: u64| {
        choice.tasks.unwrap_or(if quick { quick_one } else { full }).to_string()
    };
    let mut inputs = Vec::new();
    let mut add = |kind: Kind, size: String, workers| {
        let kind = kind.name().to_owned();
        let input = Input { kind, size, workers };
        // Small choices make some of them equal.
        if !inputs.contains(&input) {
            inputs.push(input);
        }
    };
    for workers in WORKERS {
        add(Kind::Spawn, number(100_000, 1_000_000), workers);
    }
    add(Kind::PingPong, number(100_000, 1_000_000), WORKERS[0]);
    // Two workers may have to wake each other each time.
    add(Kind::PingPong, number(50_000, 500_000), WORKERS[1]);
    if memory::can_be_told() {
        add(Kind::Waiting, number(250_000, 1_000_000), WORKERS[0]);
    }
    for workers in WORKERS {
        for threads in THREADS {
            let all = choice.tasks.unwrap_or(if quick { 100_000 } else { 500_000 });
            let threads = threads.min(all.max(1));
            let subject = Subject { kind: Kind::Fork, number: threads, rounds: all / threads };
            add(Kind::Fork, subject.size(), workers);
        }
    }
    match inputs.iter().find_map(|input| input.subject().err()) {
        None => Ok(inputs),
        Some(fault) => Err(fault),
    }
}

impl Plan {
    /// What is measured in each rotation, in order.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for input in &self.inputs {
            let has = |runtime: &&Runtime| {
                once::find(&runtime.name).is_ok_and(|local| local.can_have(input.workers))
            };
            cells.extend(self.runtimes.iter().filter(has).map(|runtime| input.on(&runtime.name)));
        }
        cells
    }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let sizes: Vec<String> = plan
        .inputs
        .iter()
        .map(|input| format!("{} {} on {}", input.kind, input.size, input.workers))
        .collect();
    format!(
        "Quick subset: fewer tasks in each measurement ({}); as many of {} repetitions as fit in {} s",
        sizes.join(", "),
        plan.repeats,
        plan.budget_seconds
    )
}
