//! `locksley scatter`: scatter and gather with both placements. And its hidden half, which makes one measurement in a process of
//! its own.

use super::results::{say_finding, say_results, this_program};
use crate::cli;
use crate::experiments::program::Program;
use crate::experiments::scatter::once::{self, Local, Subject};
use crate::experiments::scatter::{self, plan, table};
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Scatter) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        experiments: arguments.experiments.clone(),
        repeats: arguments.repeats,
        divisor: arguments.divisor,
    };
    let plan = plan::plan(&choice, Machine::here().processors)?;
    let this = this_program()?;
    let programs = Program::new(&this, &["scatter-once"]);
    let (json, out) = arguments.course.places("scatter");
    let options = scatter::Options { plan, json, out, fresh: arguments.course.fresh, programs };
    let finished = scatter::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::ScatterOnce) -> Outcome<()> {
    let local = Local::find(&arguments.runtime)?;
    let subject = Subject::find(&arguments.size)?;
    let finding = once::measure(local, subject, arguments.workers, arguments.seed)?;
    say_finding(local.name, finding)
}
