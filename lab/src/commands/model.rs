//! `locksley model`: whether work and critical path say how long a program takes.

use super::results::say_results;
use crate::cli;
use crate::experiments::model::summary::Summary;
use crate::experiments::model::{self, plan, table};
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Model) -> Outcome<()> {
    let processors = Machine::here().processors;
    let plan = plan::plan(arguments.course.quick, arguments.course.seed, processors)?;
    let (json, out) = arguments.course.places("model");
    let options = model::Options { plan, json, out, fresh: arguments.course.fresh };
    let finished = model::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &Summary::of(&finished.record));
    say_results(earlier, &table, &options.json, &finished.page)
}
