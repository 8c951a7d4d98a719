//! What is measured: the computations, the stuck owners, the numbers of workers, how often, and for how long at most.

use super::once::{Shape, Subject};
use super::record::{Plan, Size};
use crate::fault::{Fault, Outcome};

/// The code of the forking versions, with two calls for a fork.
pub const SERIAL: &str = "serial";

/// The recursion as anybody would write it: what all runtimes are relative to.
pub const PLAIN: &str = "serial-plain";

/// The workers of a stuck owner's pool: it, and one that could help.
pub const STUCK_WORKERS: usize = 2;

/// Between these sizes of fib, instructions are counted: they differ by 289,000 forks, and starting up cancels.
const INSTRUCTIONS: [u32; 2] = [22, 27];

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Instead of the usual size of fib.
    pub fib: Option<u32>,
    /// Instead of the usual levels of the tree.
    pub tree: Option<u32>,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Whether to count instructions.
    pub instructions: bool,
}

/// The plan for a machine with `processors`.
pub fn plan(choice: &Choice, processors: usize) -> Outcome<Plan> {
    let quick = choice.quick;
    let size = |app: &str, size: u32| Size { app: app.to_owned(), size: size.to_string() };
    let inputs = vec![
        size(Subject::FIB, choice.fib.unwrap_or(if quick { 30 } else { 32 })),
        size(Subject::TREE, choice.tree.unwrap_or(if quick { 20 } else { 24 })),
    ];
    for input in &inputs {
        input.subject()?;
    }
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    Ok(Plan {
        experiment: "forkjoin".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 7 } else { 11 }),
        budget_seconds: if quick { 50.0 } else { 3000.0 },
        limit_seconds: if quick { 5.0 } else { 60.0 },
        stuck_limit_seconds: if quick { 1.0 } else { 10.0 },
        workers: workers(processors),
        inputs,
        shapes: Shape::ALL.iter().map(|shape| shape.name().to_owned()).collect(),
        instructions: choice.instructions.then_some(INSTRUCTIONS),
    })
}

/// One, two, as many as there are processors, and twice as many.
fn workers(processors: usize) -> Vec<usize> {
    let mut workers = vec![1, 2, processors, 2 * processors];
    workers.retain(|&workers| workers <= crate::runtimes::MOST_WORKERS);
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let sizes: Vec<String> =
        plan.inputs.iter().map(|input| format!("{} {}", input.app, input.size)).collect();
    format!(
        "Quick subset: {}; {}as many of {} repetitions as fit in {} s",
        sizes.join(", "),
        if plan.instructions.is_some() { "" } else { "no instruction counts; " },
        plan.repeats,
        plan.budget_seconds
    )
}
