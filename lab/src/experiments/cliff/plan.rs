//! What is measured: the inputs, the numbers of workers, the runtimes, how often, and for how long at most.

use crate::apps;
use crate::fault::{Fault, Outcome};
use crate::record::{Input, Plan, RoundsPlan};
use crate::rounds::Round;
use crate::runtimes::{self, Model};

/// The name of the co-run unit among the applications of this experiment.
pub const ROUNDS: &str = "rounds";

/// The name of the co-run unit beside two busy threads.
pub const BESIDE: &str = "rounds beside two busy threads";

/// Stands for all applications of the laboratory, and rounds: those that have no input here are taken at sizes of their own.
pub const ALL: &str = "all";

/// The runtimes in the order in which they take their turns.
const RUNTIMES: [&str; 4] = ["static", "locksley", "locksley-awake", "rayon"];

/// An input: application, size in a full and in a quick run, and what it shows. A size that is missing is left out there.
struct Choice {
    app: &'static str,
    full: Option<&'static str>,
    quick: Option<&'static str>,
    shows: &'static str,
}

/// The applications of the Hood papers at their sizes, and three more inputs: `heat` with shorter and with longer phases,
/// and `knary`.
const CHOICES: [Choice; 9] = [
    Choice {
        app: "heat",
        full: Some("1024x512x400"),
        quick: Some("1024x512x40"),
        shows: "short phases",
    },
    Choice {
        app: "heat",
        full: Some("16384x1024x12"),
        quick: Some("4096x1024x6"),
        shows: "long phases",
    },
    Choice { app: "heat", full: Some("4096x512x100"), quick: None, shows: "the papers' size" },
    Choice { app: "mm", full: Some("1024"), quick: Some("512"), shows: "a single phase" },
    Choice { app: "lu", full: Some("2048"), quick: Some("512"), shows: "phases that get shorter" },
    Choice {
        app: "barnes",
        full: Some("16384x10"),
        quick: Some("4096x3"),
        shows: "irregular phases",
    },
    Choice { app: "msort", full: Some("32M"), quick: Some("1M"), shows: "memory-bound recursion" },
    Choice {
        app: "ray",
        full: Some("4,512x512"),
        quick: Some("4,128x128"),
        shows: "irregular and independent work",
    },
    Choice {
        app: "knary",
        full: Some("10,5,1"),
        quick: Some("7,6,1"),
        shows: "a fork at every node",
    },
];

/// Rounds of 64 leaves of some microseconds: the shortest phases of all.
const ROUND: Round = Round { leaf: 5000, chunks: 64, serial: 0 };

/// The numbers of workers of the papers' figure, and those of a quick run.
const WORKERS: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const QUICK_WORKERS: [usize; 6] = [1, 2, 3, 4, 8, 32];

/// The plan for a machine with `processors`, for the applications named, or for all where none is.
pub fn plan(quick: bool, seed: u64, only: &[String], processors: usize) -> Outcome<Plan> {
    let all = only.iter().any(|name| name == ALL);
    for name in only.iter().filter(|name| ![ROUNDS, ALL].contains(&name.as_str())) {
        apps::find(name)?;
        if !has_input(name) {
            return Err(Fault::input(format!("cliff has no input for {name}, but in '{ALL}'")));
        }
    }
    let wanted = |name: &str| all || only.is_empty() || only.iter().any(|only| only == name);
    let mut inputs = CHOICES
        .iter()
        .filter(|choice| wanted(choice.app))
        .filter_map(|choice| {
            let size = if quick { choice.quick } else { choice.full }?;
            Some(Input {
                app: choice.app.to_owned(),
                size: size.to_owned(),
                shows: choice.shows.to_owned(),
            })
        })
        .collect::<Vec<_>>();
    for app in apps::ALL.iter().filter(|app| all && !has_input(app.name())) {
        let size = if quick { app.quick_size() } else { app.paper_size() };
        let (app, shows) = (app.name().to_owned(), app.about().to_owned());
        inputs.push(Input { app, size: size.to_owned(), shows });
    }
    for input in &inputs {
        apps::problem(apps::find(&input.app)?, &input.size)?;
    }
    Ok(Plan {
        experiment: "cliff".to_owned(),
        quick,
        seed,
        repeats: 7,
        budget_seconds: if quick { 45.0 } else { 3300.0 },
        workers: workers(quick, processors),
        runtimes: RUNTIMES.map(str::to_owned).to_vec(),
        inputs,
        rounds: wanted(ROUNDS)
            .then_some(RoundsPlan { round: ROUND, seconds: if quick { 0.1 } else { 1.0 } }),
        // Longer than a few turns of the kernel's scheduler.
        beside: wanted(ROUNDS)
            .then_some(RoundsPlan { round: ROUND, seconds: if quick { 0.4 } else { 2.0 } }),
    })
}

fn has_input(app: &str) -> bool {
    CHOICES.iter().any(|choice| choice.app == app)
}

/// The plan with other runtimes, where any are named, and with other numbers of workers, where there are any; 1 is always among
/// them, since all ratios are to that.
pub fn instead(mut plan: Plan, names: &[String], workers: &[usize]) -> Outcome<Plan> {
    if !names.is_empty() {
        plan.runtimes.clear();
    }
    for name in names {
        if runtimes::find(name)?.model == Model::Serial {
            return Err(Fault::input(format!("cliff measures '{name}' in any case")));
        }
        if !plan.runtimes.contains(name) {
            plan.runtimes.push(name.clone());
        }
    }
    if !workers.is_empty() {
        plan.workers = vec![1];
        plan.workers.extend(workers);
        plan.workers.sort_unstable();
        plan.workers.dedup();
    }
    Ok(plan)
}

/// The papers' numbers, and on a machine for which these say nothing, its own: as many workers as processors, one more,
/// and twice as many.
fn workers(quick: bool, processors: usize) -> Vec<usize> {
    let mut workers = if quick { QUICK_WORKERS.to_vec() } else { WORKERS.to_vec() };
    workers.extend([processors, processors + 1]);
    if 2 * processors > 32 {
        workers.push(2 * processors);
    }
    workers.retain(|&workers| workers <= crate::runtimes::MOST_WORKERS);
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let sizes: Vec<String> =
        plan.inputs.iter().map(|input| format!("{} {}", input.app, input.size)).collect();
    let workers: Vec<String> = plan.workers.iter().map(usize::to_string).collect();
    format!(
        "Quick subset: P = {}; {}{}; as many of {} repetitions as fit in {} s",
        workers.join(" "),
        sizes.join(", "),
        if plan.rounds.is_some() { ", rounds" } else { "" },
        plan.repeats,
        plan.budget_seconds
    )
}
