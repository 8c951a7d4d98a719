//! What is measured: the networks of each experiment, how often, and for how long at most; and what is wanted.

use super::once::{CURRENT, LAST, SERIAL, STATIC, Subject};
use super::record::{Part, Plan};
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// An experiment of the study (section 4), or ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Experiment {
    /// The same work in ever smaller messages (figure 3).
    Division,
    /// Ever more processes (figure 4).
    Processes,
    /// Ever more work in a message (figure 5).
    Work,
    /// As many processes as there are batches of, or one more, up to the next one (figure 6).
    Sawtooth,
    /// Which share of the processors' time is spent computing.
    Utilization,
}

/// The total work of experiment 1, in seconds, and the rounds of the others.
const TOTAL_SECONDS: u64 = 50;
const ROUNDS: u64 = 12_500;

/// Experiment 1 keeps so much more of its rounds than the others. Its coarse messages have few rounds, and these must be whole.
const DIVISION_KEEPS: f64 = 2.5;
/// By how much the work of its whole rounds may differ from what all networks are to have: it is about the same work for all.
const DIVISION_TOLERANCE: f64 = 0.1;

/// The work of a message in experiments 2 and 4, in microseconds.
const PROCESSES_MICROS: u64 = 100;
const SAWTOOTH_MICROS: u64 = 800;

/// The total work of ours, in seconds: it is divided as the rounds are.
const UTILIZATION_SECONDS: u64 = 500;

/// Of how many processes, and what is wanted of which work for a message, in microseconds.
pub const UTILIZATION_PROCESSES: u64 = 250;
/// The least utilization, by microseconds of work.
pub const UTILIZATION_WANTED: [(u64, f64); 2] = [(100, 0.97), (10, 0.90)];

/// How much longer WS-LAST may take than WS-CUR, as a ratio.
pub const MOST_BEHIND: f64 = 1.02;

/// From this work division on the study has WS-LAST clearly ahead (its figure 3), ...
pub const AHEAD_FROM: u64 = 10_000;
/// ... which is wanted to be seen as this ratio of times.
pub const AHEAD: f64 = 0.98;

impl Experiment {
    /// All of them.
    pub const ALL: [Experiment; 5] = [
        Experiment::Division,
        Experiment::Processes,
        Experiment::Work,
        Experiment::Sawtooth,
        Experiment::Utilization,
    ];

    /// Its name on the command line and in records: those of the study have numbers.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::Division => "1",
            Experiment::Processes => "2",
            Experiment::Work => "3",
            Experiment::Sawtooth => "4",
            Experiment::Utilization => "utilization",
        }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Outcome<Experiment> {
        Experiment::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| {
            let known = Experiment::ALL.map(Experiment::name).join(", ");
            Fault::input(format!("unknown experiment '{name}'; there are {known}"))
        })
    }

    /// What executes its networks, with how many workers.
    fn runtimes(self, workers: usize) -> Vec<(&'static str, usize)> {
        match self {
            // With one worker the two placements are one.
            Experiment::Division | Experiment::Processes | Experiment::Work => {
                vec![(LAST, 1), (LAST, workers), (CURRENT, workers)]
            }
            Experiment::Sawtooth => vec![(LAST, 1), (LAST, workers)],
            Experiment::Utilization => {
                vec![(SERIAL, 1), (STATIC, workers), (LAST, workers), (CURRENT, workers)]
            }
        }
    }

    fn networks(self, quick: bool, divisor: u64) -> Vec<Subject> {
        let subject = |processes: u64, rounds: u64, nanos: u64| Subject {
            processes,
            rounds: (rounds / divisor).max(1),
            nanos,
        };
        let all = |processes: &[u64], others: &[u64], one: &dyn Fn(u64, u64) -> Subject| {
            let pairs = processes.iter().flat_map(|&n| others.iter().map(move |&other| (n, other)));
            pairs.map(|(n, other)| one(n, other)).collect::<Vec<_>>()
        };
        match self {
            Experiment::Division => {
                let (processes, divisions): (&[u64], &[u64]) = if quick {
                    (&[50, 250], &[1000, 10_000, 40_000, 100_000])
                } else {
                    (&[50, 250, 500, 750, 1000], &DIVISIONS)
                };
                let total = TOTAL_SECONDS as f64 * DIVISION_KEEPS / divisor as f64;
                let mut networks = all(processes, divisions, &|n, d| {
                    let rounds = (total * d as f64 / n as f64).round() as u64;
                    Subject { processes: n, rounds, nanos: 1_000_000_000 / d }
                });
                networks.retain(|subject| {
                    let work = (subject.messages() * subject.nanos) as f64 / 1e9;
                    (work / total - 1.0).abs() <= DIVISION_TOLERANCE
                });
                networks
            }
            Experiment::Processes => {
                let processes: &[u64] =
                    if quick { &[8, 32, 128] } else { &[8, 16, 32, 64, 128, 192, 256] };
                all(processes, &[PROCESSES_MICROS], &|n, w| subject(n, ROUNDS, 1000 * w))
            }
            Experiment::Work => {
                let (processes, micros): (&[u64], &[u64]) = if quick {
                    (&[16, 250], &[25, 100, 400])
                } else {
                    (&[16, 50, 250], &[25, 50, 100, 200, 400, 800])
                };
                all(processes, micros, &|n, w| subject(n, ROUNDS, 1000 * w))
            }
            Experiment::Sawtooth => {
                let processes: Vec<u64> = (16..=if quick { 24 } else { 48 }).collect();
                all(&processes, &[SAWTOOTH_MICROS], &|n, w| subject(n, ROUNDS, 1000 * w))
            }
            Experiment::Utilization => {
                let micros = UTILIZATION_WANTED.map(|(micros, _)| micros);
                all(&[UTILIZATION_PROCESSES], &micros, &|n, w| {
                    subject(n, UTILIZATION_SECONDS * 1_000_000 / w / n, 1000 * w)
                })
            }
        }
    }
}

/// The study's work divisions.
const DIVISIONS: [u64; 12] =
    [100, 1000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 90_000, 100_000];

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What messages follow from.
    pub seed: u64,
    /// Only these experiments; all where none is named.
    pub experiments: Vec<String>,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Instead of the usual divisor of rounds.
    pub divisor: Option<u64>,
}

/// The plan for a machine with `processors`.
pub fn plan(choice: &Choice, processors: usize) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    let divisor = choice.divisor.unwrap_or(if quick { 1250 } else { 125 });
    if divisor == 0 {
        return Err(Fault::input("rounds cannot be divided by 0"));
    }
    for name in &choice.experiments {
        Experiment::find(name)?;
    }
    let wanted = |experiment: &Experiment| {
        let name = experiment.name();
        choice.experiments.is_empty() || choice.experiments.iter().any(|only| only == name)
    };
    let part = |experiment: Experiment| Part {
        experiment: experiment.name().to_owned(),
        networks: experiment.networks(quick, divisor).into_iter().map(Subject::size).collect(),
    };
    let parts: Vec<Part> = Experiment::ALL.into_iter().filter(wanted).map(part).collect();
    if parts.iter().all(|part| part.networks.is_empty()) {
        return Err(Fault::input(format!("no network has the same work with 1/{divisor} of it")));
    }
    Ok(Plan {
        experiment: "scatter".to_owned(),
        quick,
        seed: choice.seed,
        // As often as the study.
        repeats: choice.repeats.unwrap_or(9),
        budget_seconds: if quick { 45.0 } else { 3300.0 },
        limit_seconds: 300.0,
        divisor,
        workers: processors.clamp(2, crate::runtimes::MOST_WORKERS),
        parts,
    })
}

impl Plan {
    /// What is measured in each rotation, in order. What several experiments have is measured for one of them.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let mut cells: Vec<Cell> = Vec::new();
        for part in &self.parts {
            for size in &part.networks {
                for (runtime, workers) in Experiment::find(&part.experiment)?.runtimes(self.workers)
                {
                    if !cells.iter().any(|cell| is_of(cell, size, runtime, workers)) {
                        let (app, size) = (part.experiment.clone(), size.clone());
                        cells.push(Cell { app, size, runtime: runtime.to_owned(), workers });
                    }
                }
            }
        }
        Ok(cells)
    }
}

/// Whether it is a cell of this network, whatever the experiment.
pub(super) fn is_of(cell: &Cell, size: &str, runtime: &str, workers: usize) -> bool {
    cell.size == size && cell.runtime == runtime && cell.workers == workers
}

/// In words, how the study is scaled down, and what a quick run leaves out.
pub fn extent(plan: &Plan) -> String {
    let rounds = format!(
        "As in the study, but with one in {} of its rounds (one at least; in experiment 1 one in {}, without those networks whose work \
         would not be the same in whole rounds), and {} workers beside one instead of 8",
        plan.divisor,
        plan.divisor as f64 / DIVISION_KEEPS,
        plan.workers
    );
    let quick = if plan.quick { "; quick subset: a part of its networks" } else { "" };
    format!(
        "{rounds}{quick}; as many of {} repetitions as fit in {} s",
        plan.repeats, plan.budget_seconds
    )
}
