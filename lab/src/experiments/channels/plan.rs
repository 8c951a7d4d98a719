//! What is measured: the subjects, the runtimes, how often, and for how long at most; and what is wanted.

use super::once::{self, Kind, Subject};
use super::program::Program;
use super::record::{Input, Plan};
use crate::experiments::forkjoin::record::LeftOut;
use crate::experiments::memory;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// Whose figures are compared with what is wanted.
pub const OURS: &str = "locksley";

/// The numbers of workers: with two, whoever sends and whoever receives may run at once.
const WORKERS: [usize; 2] = [1, 2];

/// The processes of the ring, and of the pipeline.
const RING: u64 = 1000;
const PIPELINE: u64 = 10;

/// What is wanted of a kind, at most, in its unit; memory beyond a process's own future and what its channel holds.
pub const WANTED: [(Kind, f64); 3] =
    [(Kind::Stream, 10.0), (Kind::Ring, 40.0), (Kind::Idle, 400.0)];

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What messages follow from.
    pub seed: u64,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Instead of the usual numbers of messages, hops and processes in a measurement.
    pub messages: Option<u64>,
}

/// The plan for these programs.
pub fn plan(choice: &Choice, programs: &[Program], left_out: Vec<LeftOut>) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    Ok(Plan {
        experiment: "channels".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 7 } else { 11 }),
        budget_seconds: if quick { 48.0 } else { 1500.0 },
        limit_seconds: 120.0,
        inputs: inputs(choice)?,
        runtimes: programs.iter().map(|program| program.runtime.clone()).collect(),
        left_out,
    })
}

fn inputs(choice: &Choice) -> Outcome<Vec<Input>> {
    // What one measurement consists of: some tenths of a second, or some hundredths.
    let number =
        |quick: u64, full: u64| choice.messages.unwrap_or(if choice.quick { quick } else { full });
    let turns = |quick: u64, full: u64, each: u64| match choice.messages {
        Some(0) => 0,
        Some(messages) => (messages / each).max(1),
        None => number(quick, full),
    };
    let mut subjects = vec![
        (Kind::Stream, number(1_000_000, 5_000_000).to_string()),
        (Kind::Ring, format!("{RING}x{}", turns(300, 2000, RING))),
        (Kind::Pipeline, format!("{PIPELINE}x{}", number(100_000, 1_000_000))),
        (Kind::FanOut, turns(2000, 20_000, 100).to_string()),
        (Kind::FanIn, turns(2000, 20_000, 100).to_string()),
    ];
    if memory::can_be_told() {
        subjects.push((Kind::Idle, number(250_000, 1_000_000).to_string()));
    }
    let mut inputs = Vec::new();
    for (kind, size) in subjects {
        Subject::find(kind.name(), &size)?;
        let numbers = if kind == Kind::Idle { &WORKERS[..1] } else { &WORKERS[..] };
        for &workers in numbers {
            inputs.push(Input { kind: kind.name().to_owned(), size: size.clone(), workers });
        }
    }
    Ok(inputs)
}

impl Plan {
    /// What is measured in each rotation, in order.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for input in &self.inputs {
            let has = |name: &str| {
                once::find(name).ok().is_none_or(|local| local.can_have(input.workers))
            };
            let names = self.runtimes.iter().map(|runtime| runtime.name.as_str());
            cells.extend(names.filter(|name| has(name)).map(|name| input.on(name)));
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
        "Quick subset: fewer messages in each measurement, and fewer idle processes ({}); as many of {} repetitions as fit in {} s",
        sizes.join(", "),
        plan.repeats,
        plan.budget_seconds
    )
}
