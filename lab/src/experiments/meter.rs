//! What a profiler costs: a fork, programs with small leaves, the applications, and a region; and
//! whether that is within the targets. `forkjoin` counts the instructions of a profiled fork.
//!
//! A process computes the same in turn on a pool without a profiler and on one with a profiler
//! (`pairs`), since a host's speed changes within seconds by more than the profiler costs.

mod pairs;
mod report;

use std::time::Duration;

use clap::Args;

use crate::apps;
use crate::experiment::{
    Cell, Course, Experiment, Measured, Plan, Readings, Record, Report, child, plan, seconds,
};
use crate::fault::{Fault, Outcome};
use crate::machine;

/// The runtime of all that is measured.
const LOCKSLEY: &str = "locksley";

/// Some milliseconds each: the machine has the same speed for both of a pair.
const FORK: &str = "fork 25";
const LEAVES: [&str; 3] = ["leaves 32768x100", "leaves 4096x1000", "leaves 512x10000"];
const REGIONS: &str = "regions 8";

/// What subjects have in common.
struct Kind {
    name: &'static str,
    about: &'static str,
    /// What a time is of, and how many nanoseconds its unit has.
    unit: (&'static str, f64),
    /// Whether its cost is told in percent, and not as a difference.
    is_ratio: bool,
}

static KINDS: [Kind; 4] = [
    Kind {
        name: "fork",
        about: "A Fibonacci number, doubly recursive, on one worker: nothing but forks. 'apart', \
                in records of an earlier profiler: each join is in another function than the one \
                around it.",
        unit: ("ns a fork", 1.0),
        is_ratio: false,
    },
    Kind {
        name: "leaves",
        about: "A tree of joins, LEAVESxNANOSECONDS. The target is for leaves of 1 µs and more.",
        unit: ("µs a leaf, with its fork", 1e3),
        is_ratio: true,
    },
    Kind {
        name: "apps",
        about: "The applications in their quick sizes.",
        unit: ("ms", 1e6),
        is_ratio: true,
    },
    Kind {
        name: "regions",
        about: "Profiler::measure of a task that does nothing, beside Pool::install. The other \
                figures do not contain this, and there is no target.",
        unit: ("µs a region", 1e3),
        is_ratio: false,
    },
];

/// `locksley meter`
#[derive(Debug, Args)]
pub struct Meter {
    /// Only these: fork, leaves, apps, regions [default: all]
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    kinds: Vec<String>,
    /// For how long each is computed with and without a profiler in a rotation, in seconds
    /// [default: 0.8, or 0.1 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<Duration>,
    /// How often each is measured, if the time suffices; fewer than 6 give no intervals
    #[arg(long, value_name = "K")]
    repeats: Option<usize>,
}

impl Experiment for Meter {
    const NAME: &'static str = "meter";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let all: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let kinds = plan::chosen("kind", &self.kinds, &all, &all)?;
        let repeats = plan::repeats(self.repeats, 6)?;
        let seconds = self.seconds(quick);
        let mut plan = Plan::of(course, if quick { 52.0 } else { 270.0 }, 60.0 + seconds);
        plan.compare(LOCKSLEY, env!("CARGO_PKG_VERSION"), "a pool without and with a profiler");
        plan.parameters.insert("seconds of pairs in a process".to_owned(), seconds.to_string());
        plan.quick_subset("short series of pairs; the applications with one worker only");
        for kind in all.into_iter().filter(|kind| kinds.contains(kind)) {
            plan.cells.extend(cells(kind, quick, machine::default_workers(), repeats));
        }
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Measured {
        let subject = format!("{} {}", cell.subject, self.seconds(plan.quick));
        child::once(Self::NAME, plan, &Cell { subject, ..cell.clone() })
    }

    /// The subject has a third word: for how many seconds pairs are measured.
    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        let wrong = |why| Fault::input(format!("'{}': {why}", cell.subject));
        let (subject, time) = cell.subject.rsplit_once(' ').unwrap_or(("", &cell.subject));
        let time = seconds(time).map_err(wrong)?;
        pairs::measure(subject, cell.workers, time, seed)
    }

    fn report(record: &Record) -> Report {
        report::of(record)
    }
}

impl Meter {
    fn seconds(&self, quick: bool) -> f64 {
        self.secs.map_or(if quick { 0.1 } else { 0.8 }, |time| time.as_secs_f64())
    }
}

/// What is measured of a kind: forks and regions on one worker, all else also on one for each
/// processor.
fn cells(kind: &str, quick: bool, processors: usize, repeats: usize) -> Vec<Cell> {
    let app = |app: &&apps::App| format!("{} {}", app.name, app.quick_size);
    let subjects: Vec<String> = match kind {
        "fork" => vec![FORK.to_owned()],
        "leaves" => LEAVES.map(str::to_owned).into(),
        "regions" => vec![REGIONS.to_owned()],
        _ => apps::ALL.iter().map(app).collect(),
    };
    // The applications take most of the time.
    let is_on_all = processors > 1 && (kind == "leaves" || kind == "apps" && !quick);
    let numbers = if is_on_all { vec![1, processors] } else { vec![1] };
    let cell = |subject: &String, workers| {
        let (subject, runtime) = (subject.clone(), LOCKSLEY.to_owned());
        Cell { subject, runtime, workers, repeats }
    };
    let of = |subject| numbers.iter().map(move |&workers| cell(subject, workers));
    subjects.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests;
