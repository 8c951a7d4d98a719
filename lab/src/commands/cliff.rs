//! `locksley cliff`: the performance cliff.

use super::results::say_results;
use crate::cli;
use crate::experiments::cliff::{self, plan, table};
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Cliff) -> Outcome<()> {
    let processors = Machine::here().processors;
    let plan =
        plan::plan(arguments.course.quick, arguments.course.seed, &arguments.apps, processors)?;
    let plan = plan::instead(plan, &arguments.runtimes, &arguments.workers)?;
    let (json, out) = arguments.course.places("cliff");
    let options = cliff::Options { plan, json, out, fresh: arguments.course.fresh };
    let finished = cliff::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}
