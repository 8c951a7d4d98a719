//! What is measured: which workloads on whose core, in which settings, how often, and for how long at most.

use serde::{Deserialize, Serialize};

use crate::experiments::corun::plan::Turn;
use crate::experiments::corun::unit::{Job, Unit};
use crate::fault::{Fault, Outcome};
use crate::runtimes::MOST_WORKERS;

/// Rayon on its own core.
pub const UPSTREAM: &str = "rayon";

/// Rayon on Locksley's.
pub const OURS: &str = "locksley";

/// Both, in the order of their turns.
pub const RUNTIMES: [&str; 2] = [UPSTREAM, OURS];

/// What is wanted of the geometric mean of the ratios of times, in each setting.
pub const MOST_MEAN: f64 = 1.0;

/// What is wanted of each ratio, where the program is alone.
pub const MOST_EACH: f64 = 1.05;

/// What is wanted of the unfairness beside busy threads, in the mean of the workloads, in percentage points: as of the pairs
/// of applications in `corun`.
pub const MOST_UNFAIRNESS: f64 = 15.0;

/// Steps of a leaf of `loop`, as in `corun`.
const LEAF: u64 = 5000;

/// The workloads of a quick run: uneven joins, even pieces, short loops one after the other, and a tree of no shape.
const QUICK: [&str; 4] = ["quicksort", "matmul", "life", "tsp"];

/// What a program can compute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// What it is.
    pub about: String,
}

/// The company that a program has, and how many workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// Nobody beside it, one worker for each processor.
    Alone,
    /// Nobody beside it, four workers for each processor.
    Oversubscribed,
    /// `loop` beside it, with a thread for each processor; one worker for each.
    Beside,
}

impl Setting {
    /// All of them.
    pub const ALL: [Setting; 3] = [Setting::Alone, Setting::Oversubscribed, Setting::Beside];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Setting::Alone => "alone",
            Setting::Oversubscribed => "oversubscribed",
            Setting::Beside => "beside",
        }
    }

    /// What it is, on a machine with so many processors.
    pub fn title(self, processors: usize) -> String {
        let workers = self.workers(processors);
        let company = match self {
            Setting::Beside => format!("beside loop with {processors} threads"),
            Setting::Alone | Setting::Oversubscribed => self.name().to_owned(),
        };
        format!("{company}, {workers} workers")
    }

    /// The number of workers.
    pub fn workers(self, processors: usize) -> usize {
        match self {
            Setting::Alone | Setting::Beside => processors,
            Setting::Oversubscribed => (4 * processors).min(MOST_WORKERS),
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// For how long, at least, a program computes when it is alone, in seconds.
    pub seconds: f64,
    /// And how often at least.
    pub computations: usize,
    /// For how long `loop` runs beside a program.
    pub beside_seconds: f64,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// The machine's processors: all numbers of threads follow from it.
    pub processors: usize,
    /// The runtimes, in the order of their turns.
    pub runtimes: Vec<String>,
    /// The settings.
    pub settings: Vec<Setting>,
    /// The workloads.
    pub workloads: Vec<Workload>,
}

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Only these workloads; those of the plan where none is named.
    pub workloads: Vec<String>,
    /// Only these settings, and what their figures are relative to.
    pub settings: Vec<String>,
    /// Only these runtimes.
    pub runtimes: Vec<String>,
    /// How often each is measured.
    pub repeats: Option<usize>,
    /// For how long each program computes.
    pub seconds: Option<f64>,
}

impl Choice {
    /// The runtimes that are measured, in the order of their turns.
    pub fn runtimes(&self) -> Outcome<Vec<&'static str>> {
        chosen("runtime", &self.runtimes, RUNTIMES, |name| name)
    }

    /// Whether it can be carried out, as far as that can be said without the programs.
    pub fn check(&self) -> Outcome<()> {
        if self.repeats == Some(0) {
            return Err(Fault::input("--repeats must be at least 1"));
        }
        self.runtimes().and_then(|_| self.settings()).map(drop)
    }

    fn settings(&self) -> Outcome<Vec<Setting>> {
        let mut settings = chosen("setting", &self.settings, Setting::ALL, |one| one.name())?;
        // Slowdowns are relative to the time alone.
        if settings.contains(&Setting::Beside) && !settings.contains(&Setting::Alone) {
            settings.insert(0, Setting::Alone);
        }
        Ok(settings)
    }

    fn workloads(&self, known: &[Workload]) -> Outcome<Vec<Workload>> {
        let known = known.iter().cloned();
        let mut workloads = chosen("workload", &self.workloads, known, |one| one.name.as_str())?;
        if self.quick && self.workloads.is_empty() {
            workloads.retain(|one| QUICK.contains(&one.name.as_str()));
        }
        Ok(workloads)
    }
}

/// Those of `known` that are named; all where none is.
fn chosen<T>(
    what: &str,
    names: &[String],
    known: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &str,
) -> Outcome<Vec<T>> {
    let mut known: Vec<T> = known.into_iter().collect();
    let is_known = |asked: &&String| known.iter().any(|one| name(one) == asked.as_str());
    if let Some(unknown) = names.iter().find(|asked| !is_known(asked)) {
        let known: Vec<&str> = known.iter().map(name).collect();
        let known = known.join(", ");
        return Err(Fault::input(format!("unknown {what} '{unknown}'; there are {known}")));
    }
    known.retain(|one| names.is_empty() || names.iter().any(|asked| asked == name(one)));
    Ok(known)
}

/// The plan for a machine with so many processors, of the workloads that the programs have.
pub fn plan(choice: &Choice, known: &[Workload], processors: usize) -> Outcome<Plan> {
    let quick = choice.quick;
    choice.check()?;
    let workloads = choice.workloads(known)?;
    if workloads.is_empty() {
        return Err(Fault::input("the programs have none of the workloads of a quick run"));
    }
    Ok(Plan {
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 3 } else { 9 }),
        seconds: choice.seconds.unwrap_or(if quick { 0.3 } else { 0.7 }),
        computations: if quick { 3 } else { 5 },
        beside_seconds: choice.seconds.unwrap_or(if quick { 1.0 } else { 2.0 }),
        budget_seconds: if quick { 50.0 } else { 1500.0 },
        processors: processors.clamp(1, MOST_WORKERS),
        runtimes: choice.runtimes()?.into_iter().map(str::to_owned).collect(),
        settings: choice.settings()?,
        workloads,
    })
}

impl Plan {
    /// What is measured in each rotation, in order: `loop` alone, if anybody is beside it later, and then each workload in each
    /// setting, runtimes in turn.
    pub fn turns(&self) -> Vec<Turn> {
        let is_beside = self.settings.contains(&Setting::Beside);
        let mut all: Vec<Vec<Unit>> =
            is_beside.then(|| vec![self.neighbour()]).into_iter().collect();
        for workload in &self.workloads {
            for &setting in &self.settings {
                let units = |runtime: &String| self.units(workload, setting, runtime);
                all.extend(self.runtimes.iter().map(units));
            }
        }
        all.into_iter().map(|units| Turn { units, repeats: self.repeats }).collect()
    }

    /// The programs of a measurement: the workload's, and whoever is beside it.
    pub fn units(&self, workload: &Workload, setting: Setting, runtime: &str) -> Vec<Unit> {
        let unit = Unit {
            job: Job::app(&workload.name, &workload.size.to_string()),
            runtime: runtime.to_owned(),
            workers: setting.workers(self.processors),
        };
        match setting {
            Setting::Alone | Setting::Oversubscribed => vec![unit],
            Setting::Beside => vec![unit, self.neighbour()],
        }
    }

    /// `loop` with a thread for each processor.
    pub fn neighbour(&self) -> Unit {
        Unit::busy(LEAF, self.processors)
    }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let names: Vec<&str> = plan.workloads.iter().map(|workload| workload.name.as_str()).collect();
    format!(
        "Quick subset: {} only; at least {} computations in {} s alone, {} s beside busy threads; up to {} rotations, if {} s \
         suffice",
        names.join(", "),
        plan.computations,
        plan.seconds,
        plan.beside_seconds,
        plan.repeats,
        plan.budget_seconds
    )
}
