//! `locksley neighbour`: what a program on each runtime does to an interactive neighbour.

use super::results::{say_results, this_program};
use crate::cli;
use crate::experiments::neighbour::{self, plan, table};
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Neighbour) -> Outcome<()> {
    let wishes = plan::Wishes {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        runtimes: arguments.runtimes.clone(),
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    let plan = plan::plan(&wishes, Machine::here().processors)?;
    let (json, out) = arguments.course.places("neighbour");
    let program = this_program()?;
    let options = neighbour::Options { plan, json, out, fresh: arguments.course.fresh, program };
    let finished = neighbour::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}
