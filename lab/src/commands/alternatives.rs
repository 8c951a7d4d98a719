//! `locksley alternatives`: what other implementations of work stealing make of the machine.

use super::results::say_results;
use crate::cli;
use crate::experiments::alternatives::{self, plan, table};
use crate::experiments::cliff::summary::Summary;
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Alternatives) -> Outcome<()> {
    let plan =
        plan::plan(arguments.course.quick, arguments.course.seed, Machine::here().processors)?;
    let (json, out) = arguments.course.places("alternatives");
    let options = alternatives::Options { plan, json, out, fresh: arguments.course.fresh };
    let finished = alternatives::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &Summary::of(&finished.record.as_cliff()));
    say_results(earlier, &table, &options.json, &finished.page)
}
