//! What is measured: applications that have both versions, on as many workers as processors and on many more.

use super::cost::Cost;
use super::peer::{self, FLOW, Peer};
use super::record::Plan;
use crate::apps;
use crate::experiments::memory;
use crate::fault::{Fault, Outcome};
use crate::record::{self, Cell, Input};
use crate::runtimes;

/// The graph of intervals.
pub const INTERVALS: &str = "locksley-intervals";
/// The same graph, by workers that take their oldest task first: no part of it gets far ahead.
const OLDEST: &str = "locksley-intervals-oldest";
/// The graph at several places, for the application that names them.
const PLACES: &str = "locksley-intervals-places";
/// What ratios are relative to: the same scheduler with fork and join.
pub const FORK_JOIN: &str = "locksley";
/// The serial program's name among the runtimes.
pub(super) const SERIAL: &str = "serial";

/// The runtimes, in the order of their turns.
pub const RUNTIMES: [&str; 6] = [INTERVALS, OLDEST, PLACES, FORK_JOIN, "rayon", "static"];

/// The applications, with their sizes in a full run and in a quick one, and what each is there to show.
const APPS: [(&str, &str, &str, &str); 6] = [
    (
        "heat",
        "1024x512x400",
        "1024x512x60",
        "edges between neighbours, or a barrier after each step",
    ),
    ("heat", "256x512x1600", "256x512x240", "the same with steps of a quarter of the work"),
    ("lu", "1024", "512", "a graph of tiles, or joins of quarters"),
    ("msort", "4M", "1M", "intervals inside of each other, or joins of halves"),
    (
        "sorters",
        "2097152x2048",
        "524288x512",
        "mergers at the place of who has sorted what is on their left, or joins of halves",
    ),
    ("sorters", "2097152x2048-worst", "524288x512-worst", "the same with mergers at another place"),
];

/// The numbers of workers, for each processor.
const CROWDS: [usize; 4] = [1, 2, 4, 8];
const QUICK_CROWDS: [usize; 3] = [1, 4, 8];

/// The plan for a machine with `processors`; with another runtime's graphs, if there are any.
pub fn plan(
    quick: bool,
    seed: u64,
    repeats: Option<usize>,
    processors: usize,
    peer: Option<&Peer>,
) -> Outcome<Plan> {
    if repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let inputs = APPS.map(|(app, full, small, shows)| {
        let size = if quick { small } else { full };
        Input { app: app.to_owned(), size: size.to_owned(), shows: shows.to_owned() }
    });
    for input in &inputs {
        apps::problem(apps::find(&input.app)?, &input.size)?;
    }
    let crowds = if quick { &QUICK_CROWDS[..] } else { &CROWDS };
    let crowds = crowds.iter().map(|crowd| crowd * processors);
    let mut workers: Vec<usize> = std::iter::once(1).chain(crowds).collect();
    workers.retain(|&workers| workers <= runtimes::MOST_WORKERS);
    workers.dedup();
    let runtimes = RUNTIMES.into_iter().chain(peer.map(|_| FLOW));
    Ok(Plan {
        times: record::Plan {
            experiment: "intervals".to_owned(),
            quick,
            seed,
            repeats: repeats.unwrap_or(if quick { 5 } else { 9 }),
            budget_seconds: if quick { 45.0 } else { 1500.0 },
            workers,
            runtimes: runtimes.map(str::to_owned).collect(),
            inputs: inputs.to_vec(),
            rounds: None,
            beside: None,
        },
        chain: 100_000,
        graph: if quick { 300_000 } else { 1_000_000 },
        peer: peer.map(|peer| peer.version.clone()),
    })
}

impl Plan {
    /// What is measured in each rotation, in order: what an interval costs, and each input on all runtimes.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let mut cells = vec![Cost::Chain.cell(self, INTERVALS)];
        if self.peer.is_some() {
            cells.push(Cost::Chain.cell(self, FLOW));
        }
        if memory::can_be_told() {
            cells.push(Cost::Graph.cell(self, INTERVALS));
        }
        for input in &self.times.inputs {
            let app = apps::find(&input.app)?;
            cells.push(of(input, SERIAL, 1));
            for &workers in &self.times.workers {
                for name in &self.times.runtimes {
                    let can_run = match &name[..] {
                        FLOW => input.app == peer::APP,
                        ours => runtimes::find(ours)?.can_run(app) && places_matter(input, ours),
                    };
                    if can_run {
                        cells.push(of(input, name, workers));
                    }
                }
            }
        }
        Ok(cells)
    }
}

/// Whether a runtime is about what an input is about: places are named by one application only, and where they are bad, nothing else is.
fn places_matter(input: &Input, runtime: &str) -> bool {
    let has_bad_ones = input.size.ends_with("-worst");
    if runtime == PLACES { input.app == "sorters" } else { !has_bad_ones }
}

/// An input on a runtime.
fn of(input: &Input, runtime: &str, workers: usize) -> Cell {
    let (app, size) = (input.app.clone(), input.size.clone());
    Cell { app, size, runtime: runtime.to_owned(), workers }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let times = &plan.times;
    let sizes: Vec<String> =
        times.inputs.iter().map(|input| format!("{} {}", input.app, input.size)).collect();
    let workers: Vec<String> = times.workers.iter().map(usize::to_string).collect();
    format!(
        "Quick subset: P = {}; {}; a graph of {} intervals; as many of {} repetitions as fit in {} s",
        workers.join(" "),
        sizes.join(", "),
        plan.graph,
        times.repeats,
        times.budget_seconds
    )
}
