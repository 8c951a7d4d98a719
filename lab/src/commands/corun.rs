//! `locksley corun`: what programs side by side leave each other of the machine.

use super::results::{say_results, this_program};
use crate::cli;
use crate::experiments::corun::plan::{self, Choice};
use crate::experiments::corun::program::Programs;
use crate::experiments::corun::{self, table};
use crate::fault::Outcome;
use crate::machine::Machine;

pub(super) fn execute(arguments: &cli::Corun) -> Outcome<()> {
    let choice = Choice {
        quick: arguments.course.quick,
        seed: arguments.course.seed,
        pairs: arguments.pairs.clone(),
        runtimes: arguments.runtimes.clone(),
        repeats: arguments.repeats,
        seconds: arguments.secs.map(|time| time.as_secs_f64()),
    };
    let plan = plan::plan(&choice, Machine::here().processors)?;
    let this = this_program()?;
    let programs = Programs::find(&this, &arguments.peers);
    let (json, out) = arguments.course.places("corun");
    let options =
        corun::Options { plan, choice, programs, json, out, fresh: arguments.course.fresh };
    let finished = corun::run(&options)?;
    let earlier = finished.is_old.then_some(finished.record.finished.as_str());
    let table = table::text(&finished.record, &finished.summary);
    say_results(earlier, &table, &options.json, &finished.page)
}
