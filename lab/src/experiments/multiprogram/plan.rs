//! What is measured: programs, numbers of workers, and what takes processors away from them.

use serde::{Deserialize, Serialize};

use crate::experiments::bound::plan::{self, Choice, Input};
use crate::experiments::bound::{Beside, KNARY};
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// What an experiment measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: String,
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input and all random choices follow from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// For how many seconds a program computes in a measurement, again and again, at least once.
    pub seconds: f64,
    /// The numbers of workers beside a cycler.
    pub workers: Vec<usize>,
    /// The applications and their sizes.
    pub inputs: Vec<Input>,
    /// The cyclers.
    pub cyclers: Vec<Beside>,
}

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// At most a minute.
    pub quick: bool,
    /// What all random input and all random choices follow from.
    pub seed: u64,
    /// Only these applications; all where none is named.
    pub apps: Vec<String>,
    /// Instead of the usual numbers of workers.
    pub workers: Vec<usize>,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Instead of the usual time of a measurement, in seconds.
    pub seconds: Option<f64>,
}

/// Trees from hardly any parallelism to far more than there are processors: of height h, degree d and s children in series the work grows as d^h and the critical
/// path as (s+1)^h.
const KNARIES: Choice = (KNARY, &["6,6,4", "7,6,4", "8,4,2", "8,6,3", "9,4,1", "9,5,0"]);
const QUICK_KNARIES: Choice = (KNARY, &["6,6,4", "8,4,2", "8,4,0"]);

/// The other applications. None computes longer than some tenths of a second, so that each is measured over many iterations of the cycler.
const APPS: [Choice; 6] = [
    ("heat", &["512x256x100", "1024x512x100"]),
    ("msort", &["10K", "1M"]),
    ("mm", &["64", "512"]),
    ("lu", &["512"]),
    ("barnes", &["4096x2"]),
    ("ray", &["4,128x128"]),
];
const QUICK_APPS: [Choice; 3] =
    [("heat", &["512x256x100"]), ("msort", &["300K"]), ("mm", &["256"])];

/// The most workers of the papers.
const MANY: usize = 64;

/// The plan for a machine with `processors`.
///
/// With fewer workers than processors PA = min(P, processors − PA(cycler)) says little of what a cycler took from them, so there are none of these.
pub fn plan(wishes: &Wishes, processors: usize) -> Outcome<Plan> {
    if wishes.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = wishes.quick;
    let choices: Vec<Choice> = match quick {
        true => [QUICK_KNARIES].into_iter().chain(QUICK_APPS).collect(),
        false => [KNARIES].into_iter().chain(APPS).collect(),
    };
    let mut workers = vec![processors, MANY];
    if !quick {
        workers.push(4 * processors);
    }
    let workers = if wishes.workers.is_empty() { workers } else { wishes.workers.clone() };
    let (repeats, budget_seconds) = if quick { (3, 45.0) } else { (5, 390.0) };
    Ok(Plan {
        experiment: "multiprogram".to_owned(),
        quick,
        seed: wishes.seed,
        repeats: wishes.repeats.unwrap_or(repeats),
        budget_seconds,
        limit_seconds: 60.0,
        seconds: wishes.seconds.unwrap_or(if quick { 0.4 } else { 0.6 }),
        workers: plan::numbers(workers),
        inputs: plan::inputs(wanted(choices, &wishes.apps)?)?,
        cyclers: cyclers(quick, processors),
    })
}

/// The choices of these applications alone, if any are named.
fn wanted(choices: Vec<Choice>, only: &[String]) -> Outcome<Vec<Choice>> {
    let known = || choices.iter().map(|(name, _)| *name);
    if let Some(unknown) = only.iter().find(|only| !known().any(|name| name == **only)) {
        let known = known().collect::<Vec<_>>().join(", ");
        return Err(Fault::input(format!(
            "multiprogram does not measure '{unknown}' here; it measures {known}"
        )));
    }
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    Ok(choices.into_iter().filter(|(name, _)| is_wanted(name)).collect())
}

/// Few and many workers, which are released for tens of milliseconds; and in a full run some for hundreds.
fn cyclers(quick: bool, processors: usize) -> Vec<Beside> {
    let beside = |workers, most| Beside { workers, most };
    let (few, many) = (beside((processors / 2).max(1), 100), beside(2 * processors, 100));
    if quick { vec![few, many] } else { vec![few, beside(processors, 1000), many] }
}

/// What a cell is to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    /// How much a cycler counts on a processor of its own.
    Rate,
    /// Work and critical path of a program that is alone.
    Alone,
    /// How long it takes beside this one.
    Beside(Beside),
}

/// Where the application's name stands in a cell, and on the command line, where a cycler is calibrated.
pub const CALIBRATION: &str = "calibration";

impl What {
    /// Where the runtime's name stands.
    fn runtime(self) -> String {
        match self {
            What::Rate => "an idle machine".to_owned(),
            What::Alone => "locksley alone".to_owned(),
            What::Beside(beside) => format!("locksley beside {beside}"),
        }
    }

    /// The measurement of it.
    pub(super) fn of(self, (app, size): &Input, workers: usize) -> Cell {
        Cell { app: app.clone(), size: size.clone(), runtime: self.runtime(), workers }
    }
}

impl Plan {
    /// What is measured in each rotation, in order.
    pub fn cells(&self) -> Vec<Cell> {
        self.all().into_iter().map(|(_, cell)| cell).collect()
    }

    /// What this cell is to measure; `None` if it is none of this plan.
    pub(super) fn what(&self, cell: &Cell) -> Option<What> {
        self.all().into_iter().find(|(_, other)| other == cell).map(|(what, _)| what)
    }

    /// The calibration of a cycler.
    pub(super) fn calibration() -> Cell {
        What::Rate.of(&(CALIBRATION.to_owned(), "cycler(1)".to_owned()), 1)
    }

    fn all(&self) -> Vec<(What, Cell)> {
        let mut cells = vec![(What::Rate, Plan::calibration())];
        for input in &self.inputs {
            cells.push((What::Alone, What::Alone.of(input, 1)));
            for &beside in &self.cyclers {
                let what = What::Beside(beside);
                cells.extend(self.workers.iter().map(|&workers| (what, what.of(input, workers))));
            }
        }
        cells
    }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let cyclers: Vec<String> = plan.cyclers.iter().map(Beside::to_string).collect();
    let others = format!("; beside {}; {} s each", cyclers.join(", "), plan.seconds);
    plan::subset(&plan.workers, &plan.inputs, &others, plan.repeats, plan.budget_seconds)
}
