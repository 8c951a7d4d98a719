//! What is measured: the alternatives that there are, on inputs that tell them apart.

use crate::apps;
use crate::fault::Outcome;
use crate::record::{Input, Plan, RoundsPlan};
use crate::rounds::Round;
use crate::runtimes;

/// The implementations of work stealing, ours first. Hood's study has the last four, and one like `locksley-awake`.
pub const RUNTIMES: [&str; 6] = [
    "locksley",
    "locksley-awake",
    "locksley-abp-deque",
    "locksley-blocking",
    "locksley-spinlock",
    "locksley-naive",
];

/// The applications: those on which the study's figure 2 shows the fall best, and those that fork most.
const APPS: [(&str, &str, &str); 5] = [
    ("heat", "1024x512x400", "1024x512x40"),
    ("lu", "", ""),
    ("barnes", "", ""),
    ("knary", "8,6,1", "7,6,1"),
    ("msort", "4M", "1M"),
];

/// Rounds of 64 leaves of some microseconds, as in `cliff`: short phases, where a hunter is in the way soonest.
const ROUND: Round = Round { leaf: 5000, chunks: 64, serial: 0 };

/// The numbers of workers, where the machine has few processors.
const WORKERS: [usize; 7] = [1, 2, 3, 4, 6, 8, 16];
const QUICK_WORKERS: [usize; 4] = [1, 2, 4, 8];

/// The plan for a machine with `processors`.
pub fn plan(quick: bool, seed: u64, processors: usize) -> Outcome<Plan> {
    let known = |name: &str| runtimes::find(name).is_ok();
    let mut inputs = Vec::new();
    for (name, full, small) in APPS {
        // An application that there is not is left out; an empty size is its own quick one.
        let Ok(app) = apps::find(name) else { continue };
        let size = if quick { small } else { full };
        let size = if size.is_empty() { app.quick_size() } else { size };
        apps::problem(app, size)?;
        let shows = app.about().to_owned();
        inputs.push(Input { app: name.to_owned(), size: size.to_owned(), shows });
    }
    if quick {
        inputs.retain(|input| ["heat", "knary"].contains(&input.app.as_str()));
    }
    Ok(Plan {
        experiment: "alternatives".to_owned(),
        quick,
        seed,
        repeats: 5,
        budget_seconds: if quick { 40.0 } else { 3300.0 },
        workers: workers(quick, processors),
        runtimes: RUNTIMES.iter().filter(|name| known(name)).map(|&name| name.to_owned()).collect(),
        inputs,
        rounds: Some(RoundsPlan { round: ROUND, seconds: if quick { 0.1 } else { 1.0 } }),
        beside: None,
    })
}

/// The alternatives of the study that this build does not have.
pub fn missing(plan: &Plan) -> Vec<&'static str> {
    RUNTIMES.into_iter().filter(|name| !plan.runtimes.iter().any(|there| there == name)).collect()
}

fn workers(quick: bool, processors: usize) -> Vec<usize> {
    let mut workers = if quick { QUICK_WORKERS.to_vec() } else { WORKERS.to_vec() };
    workers.extend(crowds(processors));
    if !quick {
        workers.push(processors + 1);
    }
    workers.retain(|&workers| workers <= runtimes::MOST_WORKERS);
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// The numbers of workers whose time is broken down, as in the study's figure 3: as many as processors, and twice that.
pub fn crowds(processors: usize) -> [usize; 2] {
    [processors, 2 * processors]
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let sizes: Vec<String> =
        plan.inputs.iter().map(|input| format!("{} {}", input.app, input.size)).collect();
    let workers: Vec<String> = plan.workers.iter().map(usize::to_string).collect();
    format!(
        "Quick subset: P = {}; {}, rounds; as many of {} repetitions as fit in {} s",
        workers.join(" "),
        sizes.join(", "),
        plan.repeats,
        plan.budget_seconds
    )
}
