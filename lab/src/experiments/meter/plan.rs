//! What is measured: what, with how many workers, how often, and for how long at most; and what is wanted.

use super::once::{Kind, Subject};
use super::record::Plan;
use crate::apps;
use crate::fault::{Fault, Outcome};
use crate::machine;
use crate::record::Cell;

/// The runtime of all that is measured.
pub const LOCKSLEY: &str = "locksley";

/// What a fork may take more in a profiled pool, in nanoseconds.
pub const MOST_FOR_A_FORK: f64 = 30.0;
/// How much longer a program with leaves of [`LEAST_LEAF`] nanoseconds or more may take.
pub const MOST_WITH_LEAVES: f64 = 1.05;
/// From which leaves on, in nanoseconds.
pub const LEAST_LEAF: u64 = 1000;
/// How much longer the applications may take.
pub const MOST_WITH_APPS: f64 = 1.01;

/// Some milliseconds each: two that are next to each other in time have a machine of the same speed.
const FIB: u32 = 25;
const LEAVES: [(u64, u64); 3] = [(32_768, 100), (4096, 1000), (512, 10_000)];
const REGIONS: u64 = 8;

/// In a rotation: beyond so many pairs, another process says more than another pair.
const PAIRS: usize = 64;

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Only these kinds; all where none is named.
    pub kinds: Vec<String>,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Instead of the usual time, in seconds.
    pub seconds: Option<f64>,
}

/// The plan, for a machine with so many workers.
pub fn plan(choice: &Choice, workers: usize) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    let wanted: Vec<Kind> =
        choice.kinds.iter().map(|name| Kind::find(name)).collect::<Outcome<_>>()?;
    let is_wanted = |kind: &Kind| wanted.is_empty() || wanted.contains(kind);
    let kinds = Kind::ALL.into_iter().filter(is_wanted);
    let seconds = choice.seconds.unwrap_or(if quick { 0.25 } else { 0.8 });
    Ok(Plan {
        experiment: "meter".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 3 } else { 6 }),
        budget_seconds: if quick { 45.0 } else { 270.0 },
        limit_seconds: 60.0 + seconds,
        pairs: PAIRS,
        seconds,
        cells: kinds.flat_map(|kind| cells(kind, quick, workers)).collect(),
    })
}

/// What is measured of a kind: forks and regions on one worker, all else also on all of them.
fn cells(kind: Kind, quick: bool, all: usize) -> Vec<Cell> {
    let (subjects, is_on_all): (Vec<Subject>, bool) = match kind {
        Kind::Fork => (vec![Subject::Fork(FIB)], false),
        Kind::Leaves => {
            (LEAVES.map(|(number, nanos)| Subject::Leaves { number, nanos }).to_vec(), true)
        }
        Kind::Regions => (vec![Subject::Regions(REGIONS)], false),
        Kind::Apps => {
            let subject = |app: &&dyn apps::App| {
                let (app, size) = (app.name().to_owned(), app.quick_size().to_owned());
                Subject::App { app, size }
            };
            (apps::ALL.iter().map(subject).collect(), true)
        }
    };
    let mut numbers = vec![1];
    if is_on_all && all > 1 {
        numbers.push(all);
    }
    // The applications take most of the time.
    if quick && kind == Kind::Apps {
        numbers.truncate(1);
    }
    let of = |subject: &Subject, workers| {
        let (app, size) = subject.names();
        Cell { app, size, runtime: LOCKSLEY.to_owned(), workers }
    };
    subjects.iter().flat_map(|subject| numbers.iter().map(|&number| of(subject, number))).collect()
}

/// The number of workers of what is measured with all: one for each processor.
pub fn all_workers() -> usize {
    machine::default_workers()
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    format!(
        "Quick subset: {} s of pairs at a time; the applications with one worker only; as many of {} repetitions as fit in {} s",
        plan.seconds, plan.repeats, plan.budget_seconds
    )
}
