//! `locksley wait`: what tasks cost that wait. And its hidden half, which makes one measurement in a process of its own.

use super::results::{say_finding, say_results, this_program};
use crate::cli;
use crate::experiments::program::Program;
use crate::experiments::wait::once::{self, Subject};
use crate::experiments::wait::{self, plan, table};
use crate::fault::Outcome;

pub(super) fn execute(arguments: &cli::Wait) -> Outcome<()> {
    let choice = plan::Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        runtimes: arguments.runtimes.clone(),
        repeats: arguments.repeats,
        tasks: arguments.tasks,
    };
    let plan = plan::plan(&choice)?;
    let this = this_program()?;
    let programs = Program::new(&this, &["wait-once"]);
    let (json, out) = arguments.course.places("wait");
    let options = wait::Options { plan, json, out, fresh: arguments.course.fresh, programs };
    let finished = wait::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}

pub(super) fn once(arguments: &cli::WaitOnce) -> Outcome<()> {
    let local = once::find(&arguments.runtime)?;
    let subject = Subject::find(&arguments.kind, &arguments.size)?;
    let finding = local.measure(subject, arguments.workers, arguments.seed)?;
    say_finding(local.name, finding)
}
