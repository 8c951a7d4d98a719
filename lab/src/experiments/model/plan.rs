//! What is measured: programs from hardly any parallelism to far more than there are processors, on 1 to 64 workers.

use serde::{Deserialize, Serialize};

use crate::experiments::bound::KNARY;
use crate::experiments::bound::plan::{self, Choice, Input};
use crate::fault::Outcome;

/// What an experiment measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// The numbers of workers, 1 among them.
    pub workers: Vec<usize>,
    /// The applications and their sizes.
    pub inputs: Vec<Input>,
}

/// Of a tree of height h, degree d and s children in series the work grows as d^h and the critical path as (s+1)^h: these have
/// parallelism from 2 to thousands.
const KNARIES: [&str; 14] = [
    "6,6,4", "7,6,4", "8,5,3", "8,6,4", "8,4,2", "9,4,2", "8,6,3", "9,3,1", "11,3,1", "7,6,2",
    "9,4,1", "7,6,1", "9,5,1", "8,5,0",
];
const QUICK_KNARIES: [&str; 8] =
    ["5,6,4", "6,6,4", "7,5,3", "8,4,2", "6,6,3", "9,3,1", "7,4,1", "7,5,0"];

/// The other applications, each with sizes of different parallelism.
const APPS: [Choice; 6] = [
    ("heat", &["128x64x400", "1024x512x100", "4096x512x40"]),
    ("msort", &["10K", "300K", "2M"]),
    ("mm", &["64", "256", "512"]),
    ("lu", &["128", "512", "1024"]),
    ("barnes", &["512x10", "4096x3", "16384x1"]),
    ("ray", &["4,16x16", "4,128x128", "4,256x256"]),
];
const QUICK_APPS: [Choice; 3] =
    [("heat", &["128x64x200", "1024x512x20"]), ("msort", &["10K", "300K"]), ("mm", &["64", "256"])];

const WORKERS: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const QUICK_WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The plan for a machine with `processors`.
pub fn plan(quick: bool, seed: u64, processors: usize) -> Outcome<Plan> {
    let knaries: &'static [&'static str] = if quick { &QUICK_KNARIES } else { &KNARIES };
    let apps: &[Choice] = if quick { &QUICK_APPS } else { &APPS };
    let inputs = plan::inputs([(KNARY, knaries)].into_iter().chain(apps.iter().copied()))?;
    let mut workers = if quick { QUICK_WORKERS.to_vec() } else { WORKERS.to_vec() };
    workers.extend([processors, 2 * processors]);
    let (repeats, budget_seconds) = if quick { (5, 45.0) } else { (21, 420.0) };
    Ok(Plan { quick, seed, repeats, budget_seconds, workers: plan::numbers(workers), inputs })
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    plan::subset(&plan.workers, &plan.inputs, "", plan.repeats, plan.budget_seconds)
}
